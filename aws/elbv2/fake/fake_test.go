// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
)

const testARN = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/web/0123456789abcdef"

func TestAPIRefusesWholeCallAndRemembersZones(t *testing.T) {
	refusal := errors.New("not this one")
	one, two := elbv2.Target{ID: "10.0.0.1", Port: 80}, elbv2.Target{ID: "192.168.0.2", Port: 80}
	api := &API{Refuse: func(target elbv2.Target, zone string) error {
		if target == two && zone == "" {
			return refusal
		}
		return nil
	}}
	api.AddGroup(types.TargetGroup{TargetGroupArn: aws.String(testARN)})
	client := elbv2.New(api, budget.New("", nil, clock.RealClock{}))

	register := func(zone string) error {
		return client.Register(t.Context(), budget.ClassRegister.Now(), testARN, func() map[elbv2.Target]string { return map[elbv2.Target]string{one: "", two: zone} })
	}
	if err := register(""); !errors.Is(err, refusal) {
		t.Fatalf("error %v, want that of Refuse", err)
	}
	if got := api.Targets(testARN); len(got) != 0 {
		t.Fatalf("registered %v, want none when one is refused", got)
	}
	if err := register(elbv2.ZoneAll); err != nil {
		t.Fatal(err)
	}
	names := []string{"10.0.0.1:80", "192.168.0.2:80"}
	want := []Call{
		{Operation: "RegisterTargets", Group: testARN, Targets: names},
		{Operation: "RegisterTargets", Group: testARN, Targets: names, Zones: map[string]string{"192.168.0.2:80": "all"}},
	}
	if diff := cmp.Diff(want, api.Calls("RegisterTargets")); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}

	api.Forget(testARN, one)
	health, err := client.Health(t.Context(), budget.ClassOther, testARN, elbv2.WholeGroup)
	if err != nil {
		t.Fatal(err)
	}
	if len(health) != 1 || health[two].Zone != elbv2.ZoneAll {
		t.Errorf("health %v, want only %s in zone all", health, two)
	}
}
