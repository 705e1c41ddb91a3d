// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package accepted

import (
	"fmt"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/ingress"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// begin applies what a group says.
func (c *cloud) begin(t *testing.T, in input.Input) {
	t.Helper()
	wanted, faults := ingress.Build(in)
	if refusals := c.apply(t, wanted); len(refusals)+len(faults) > 0 {
		t.Fatalf("AWS refuses %v, faults %v", refusals, faults)
	}
}

// A rule for CloudFront's prefix list counts as 55 of the 60 that a security group may have: one for another port has no room beside it.
func TestAPrefixListMovesToAnotherPort(t *testing.T) {
	c, m := newCloud(t), newMember("web")
	if err := c.aws.EC2.PutPrefixList(ec2.PrefixList{ID: "pl-0123456789abcdef1", MaxEntries: 55}); err != nil {
		t.Fatal(err)
	}
	m.ingress.Annotations[annotation.Prefix+"security-group-prefix-lists"] = "pl-0123456789abcdef1"
	m.ingress.Annotations[annotation.Prefix+"listen-ports"] = `[{"HTTP":80}]`
	in := inputOf(c, []*member{m})
	c.begin(t, in)
	m.ingress.Annotations[annotation.Prefix+"listen-ports"] = `[{"HTTPS":443}]`
	c.converge(t, in)
}

// Certificates are exchanged when AWS has no room for one more, and as many are taken as AWS counts: the default one is left out of the
// list for SNI then.
func TestCertificatesAreExchangedAtTheQuota(t *testing.T) {
	quotas := state.DefaultQuotas()
	quotas.CertificatesPerBalancer = 2
	c, m := newCloudOf(t, quotas), newMember("web")
	c.options.Certificates = 2
	arn := func(name string) string {
		arn := strings.Replace(certificate, "/one", "/"+name, 1)
		c.aws.ELB.PutCertificate(arn)
		return arn
	}
	set := func(names ...string) {
		for i, name := range names {
			names[i] = arn(name)
		}
		m.ingress.Annotations[annotation.Prefix+"certificate-arn"] = strings.Join(names, ",")
	}
	in := inputOf(c, []*member{m})
	in.Options.Limits.Certificates = 2
	set("one", "two")
	c.begin(t, in)
	for _, names := range [][]string{{"one", "three"}, {"one", "three", "four"}, {"one", "four", "five"}, {"five", "one", "six"}, {"seven"}} {
		set(names...)
		c.converge(t, in)
		wanted, seen := 0, c.seen(t, in)
		for _, listener := range seen.LoadBalancers[0].Listeners {
			wanted += len(listener.Additional())
		}
		if wanted != len(names)-1 {
			t.Errorf("of %v, the listener has %d besides the default one", names, wanted)
		}
	}
}

// Target groups that take over are named beside those that serve, one after the other if AWS has room for one more only.
func TestTargetGroupsAreReplacedAtTheQuota(t *testing.T) {
	for _, quota := range []int{3, 4} {
		t.Run(fmt.Sprint("quota ", quota), func(t *testing.T) {
			quotas := state.DefaultQuotas()
			quotas.GroupsPerALB = quota
			c, m := newCloudOf(t, quotas), newMember("web")
			c.options.TargetGroups = quota
			paths := &m.ingress.Spec.Rules[0].HTTP.Paths
			path := (*paths)[0]
			path.Path, path.Backend.Service = "/other", &networkingv1.IngressServiceBackend{Name: "other", Port: path.Backend.Service.Port}
			*paths = append(*paths, path)
			in := inputOf(c, []*member{m})
			c.begin(t, in)
			m.ingress.Annotations[annotation.Prefix+"target-type"] = "instance"
			for range 3 { // former target groups are kept for some seconds
				wanted, steps := c.again(t, in)
				if result := c.applier.Run(t.Context(), apply.Pass{ID: wanted.ID, Plan: steps}); len(result.Failures)+len(result.Waits) > 0 {
					t.Fatalf("AWS refuses %v, waits for %v", result.Failures, result.Waits)
				}
			}
			if _, left := c.again(t, in); len(left) > 0 {
				t.Errorf("something is left to do: %v", left)
			}
		})
	}
}
