// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package accepted

import (
	"strings"
	"testing"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/ingress"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// AWS answers with a load balancer that somebody else has made when its settings are those that are asked for. It gets no listener.
func TestALoadBalancerOfTheSameNameAndSettingsIsLeftAlone(t *testing.T) {
	for name, isKnown := range map[string]bool{"made before the account was read": true, "made since": false} {
		t.Run(name, func(t *testing.T) {
			c, m := newCloud(t), newMember("web")
			const subnets = "subnet-0a000000000000001,subnet-0b000000000000002"
			for name, value := range map[string]string{
				"load-balancer-name": "shared", "scheme": "internal", "subnets": subnets, "security-groups": "given",
			} {
				m.ingress.Annotations[annotation.Prefix+name] = value
			}
			wanted, faults := ingress.Build(inputOf(c, []*member{m}))
			read := func() {
				if _, err := c.view.Stack(t.Context(), wanted.ID); err != nil {
					t.Fatal(err)
				}
			}
			if !isKnown {
				read()
			}
			foreign, err := c.aws.ELB.CreateBalancer("", state.BalancerSpec{
				Name: "shared", Scheme: "internal", Subnets: strings.Split(subnets, ","), SecurityGroups: []string{c.group},
			})
			if err != nil || len(faults) > 0 {
				t.Fatal(err, faults)
			}
			read()
			seen := wanted
			seen.LoadBalancers, seen.TargetGroups, seen.Bindings, seen.SecurityGroups = nil, nil, nil, nil
			planned, _ := plan.Make(wanted, seen, plan.Options{})
			result := c.applier.Run(t.Context(), apply.Pass{ID: wanted.ID, Plan: planned})
			if len(result.Failures) != 1 || !strings.Contains(result.Failures[0].Err.Error(), "the name shared is taken by load balancer "+foreign.ARN) {
				t.Errorf("failures %v", result.Failures)
			}
			if listeners, err := c.aws.ELB.Listeners(foreign.ARN); err != nil || len(listeners) > 0 {
				t.Errorf("listeners %v, %v", listeners, err)
			}
		})
	}
}
