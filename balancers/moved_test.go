// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"testing"
	"time"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/stack"
)

// The new group of such a member may take long to serve it, and only that one writes its status.
func TestALoadBalancerIsKeptForAMemberThatLeaves(t *testing.T) {
	b := newBed(t, webService(), served(ingressOf("stays", edge), oldHost, edge), served(ingressOf("leaves", other), oldHost, edge, other))
	b.see(edge, balancer("old", true, 80), balancer("new", true, 80))
	var left time.Duration
	b.apply = func(pass apply.Pass) apply.Result {
		left = pass.Unsettled("arn-old")
		return apply.Result{Waits: []plan.Wait{{Settled: stack.Ref{ID: "arn-old"}}}, Again: time.Minute}
	}
	for range 3 {
		if b.mustPass(edge); hostname(b.get("stays")) != newHost || left != DefaultSettleTime {
			t.Errorf("status %s, %v left while another Ingress has the old name", hostname(b.get("stays")), left)
		}
		b.clock.Step(DefaultSettleTime)
	}
	b.writeHost("leaves", "k8s-other.elb.amazonaws.com")
	b.mustPass(edge)
	b.clock.Step(DefaultSettleTime)
	if b.mustPass(edge); left != 0 {
		t.Errorf("%v left after the name has left the last status", left)
	}
}
