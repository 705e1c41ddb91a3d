// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package accepted

import (
	"testing"

	"github.com/targetgate/targetgate/balancers/ingress"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
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
