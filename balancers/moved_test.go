// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// The new group of such a member may take long to serve it, and only that one writes its status.
func TestALoadBalancerIsKeptForAMemberThatLeaves(t *testing.T) {
	b := newBed(t, webService(), served(ingressOf("stays", edge), oldHost, edge), served(ingressOf("leaves", other), oldHost, edge, other))
	b.see(edge, balancer("old", true, 80), balancer("new", true, 80))
	var left time.Duration
	b.apply = func(pass apply.Pass) apply.Result {
		left = pass.Unsettled("arn-old")
		return apply.Result{Waits: []steps.Wait{{Settled: stack.Ref{ID: "arn-old"}}}, Again: time.Minute}
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

func TestALoadBalancerIsKeptUntilItsNameHasLeftAllStatuses(t *testing.T) {
	b := newBed(t, webService(), served(ingressOf("a", edge), oldHost, edge))
	b.see(edge, balancer("old", true, 80), balancer("new", true, 80))
	var left time.Duration
	b.apply = func(pass apply.Pass) apply.Result {
		left = pass.Unsettled("arn-old")
		return apply.Result{Waits: []steps.Wait{{Settled: stack.Ref{ID: "arn-old"}}}}
	}
	b.statusErr = errors.New("no answer")
	for range 2 {
		if _, err := b.pass(edge); err == nil || left != DefaultSettleTime {
			t.Errorf("error %v, %v left while the status cannot be written", err, left)
		}
		b.clock.Step(DefaultSettleTime)
	}
	if want := "a Warning FailedUpdateStatus: Failed update status due to no answer"; !slices.Equal(b.events, []string{want}) {
		t.Errorf("events %q, want %q", b.events, want)
	}
}

// Until all that the former one may go for is there, clients are to come to that one, whichever is seen first.
func TestTheStatusStaysWhileTheNewLoadBalancerIsNotReady(t *testing.T) {
	b := newBed(t, webService(), served(ingressOf("a", edge), oldHost, edge))
	b.see(edge, balancer("new", true, 80), balancer("old", true, 80))
	b.apply = func(apply.Pass) apply.Result {
		return apply.Result{Waits: []steps.Wait{{Healthy: stack.Ref{ID: "tg"}}}}
	}
	if b.mustPass(edge); hostname(b.get("a")) != oldHost {
		t.Errorf("status %s, want %s", hostname(b.get("a")), oldHost)
	}
}

func TestTheStatusOfWhatIsDeletedIsLeft(t *testing.T) {
	b := newBed(t, webService(), served(ingressOf("a", edge), oldHost, edge))
	b.see(edge, balancer("old", true, 80))
	b.delete("a")
	b.apply = func(apply.Pass) apply.Result {
		b.see(edge)
		return apply.Result{}
	}
	if b.mustPass(edge); b.exists("a") || !slices.Equal(b.writes, []string{"patch a"}) {
		t.Errorf("writes %q, want that of the finalizer", b.writes)
	}
}
