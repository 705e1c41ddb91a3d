// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/plan"
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

// New rules wait on a load balancer that clients come to, and not on one that is to replace another.
func TestAPlanKnowsWhichLoadBalancerIsInAStatus(t *testing.T) {
	b := newBed(t, webService(), served(ingressOf("a", edge), newHost, edge))
	b.see(edge, balancer("old", true, 80), balancer("new", true, 80))
	b.mustPass(edge)
	for _, balancer := range b.compared.LoadBalancers {
		if balancer.InStatus != (balancer.ARN == "arn-new") {
			t.Errorf("%s is in a status: %v", balancer.Name, balancer.InStatus)
		}
	}
}

// An admission policy may refuse for ever that a binding be deleted.
func TestATargetGroupThatIsYetToGoDelaysNoMemberThatMoves(t *testing.T) {
	for name, tc := range map[string]struct {
		left  steps.Change
		moves bool
	}{
		"a target group is yet to go": {steps.DeleteTargetGroup{}, true},
		"a rule is yet to be made":    {steps.CreateRule{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, webService(), served(ingressOf("a", edge), "k8s-other.elb.amazonaws.com", edge))
			b.see(edge, balancer("old", true, 80))
			b.apply = func(apply.Pass) apply.Result { return apply.Result{LeftOut: steps.Plan{{Change: tc.left}}} }
			if b.mustPass(edge); (hostname(b.get("a")) == oldHost) != tc.moves {
				t.Errorf("status %s, want it to move: %v", hostname(b.get("a")), tc.moves)
			}
		})
	}
}

// Rule 15: its old group serves it for as long as its status leads there.
func TestAMemberThatIsNotServedWhereItMovesKeepsItsStatus(t *testing.T) {
	for name, tc := range map[string]struct {
		scheme string
		result apply.Result
		rules  []plan.Overflow
		err    bool
	}{
		"the load balancer has another scheme": {scheme: "internet-facing"},
		"AWS refuses its rule":                 {result: refusedWith(steps.CreateRule{Rule: stack.Rule{Owner: "shop/a"}}, "InvalidLoadBalancerAction")},
		"its rule cannot be made yet":          {result: refusedWith(steps.CreateRule{Rule: stack.Rule{Owner: "shop/a"}}, "PriorityInUse"), err: true},
		"AWS refuses its web ACL":              {result: refusedWith(steps.Set{Setting: steps.WebACL, Value: testACL}, "AccessDenied"), err: true},
		"AWS gives no answer to its setting":   {result: refusedWith(steps.SetHealthCheck{Group: stack.Ref{Part: part("a")}}, "InternalFailure"), err: true},
		"its rule has no room":                 {rules: []plan.Overflow{{Rule: stack.Rule{Owner: "shop/a"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			moves := served(ingressOf("a", other), oldHost, edge)
			moves.Annotations["alb.ingress.kubernetes.io/scheme"] = cmp.Or(tc.scheme, "internal")
			moves.Annotations["alb.ingress.kubernetes.io/wafv2-acl-arn"] = testACL
			b := newBed(t, webService(), moves, served(ingressOf("good", other), newHost, other))
			b.see(edge, balancer("old", true, 80))
			b.see(other, balancer("new", true, 80))
			b.apply = func(apply.Pass) apply.Result { return tc.result }
			b.overflow = tc.rules
			if _, err := b.pass(other); (err != nil) != tc.err || hostname(b.get("a")) != oldHost {
				t.Errorf("status %s, error %v, want %s while its new group does not serve it", hostname(b.get("a")), err, oldHost)
			}
			b.apply, b.overflow = func(apply.Pass) apply.Result { return apply.Result{} }, nil
			b.clock.Step(DefaultSettleTime)
			if b.mustPass(edge); len(b.wanted.Members) != 1 || !b.wanted.Members[0].Held {
				t.Errorf("members of its old group %+v, want it held there", b.wanted.Members)
			}
			b.edit("a", func(i *networkingv1.Ingress) { i.Annotations["alb.ingress.kubernetes.io/scheme"] = "internal" })
			if b.mustPass(other); hostname(b.get("a")) != newHost {
				t.Errorf("status %s once its new group serves it, want %s", hostname(b.get("a")), newHost)
			}
		})
	}
}

// All that a member asks for was made but a setting: its clients are served.
func TestAMemberGetsTheNameThoughASettingIsRefused(t *testing.T) {
	for name, change := range map[string]steps.Change{
		"an attribute":   steps.SetLoadBalancerAttributes{Attributes: map[string]string{"idle_timeout.timeout_seconds": "9"}},
		"a health check": steps.SetHealthCheck{Group: stack.Ref{Part: part("joins")}},
		"a capacity":     steps.Set{Setting: steps.Capacity, Value: "1000"},
	} {
		for _, code := range []string{"InvalidConfigurationRequest", "AccessDenied"} {
			t.Run(name+", "+code, func(t *testing.T) {
				joins := ingressOf("joins", edge)
				joins.Annotations["alb.ingress.kubernetes.io/load-balancer-attributes"] = "idle_timeout.timeout_seconds=9"
				joins.Annotations["alb.ingress.kubernetes.io/minimum-load-balancer-capacity"] = "CapacityUnits=1000"
				b := newBed(t, webService(), joins, served(ingressOf("member", edge), oldHost, edge))
				b.see(edge, balancer("old", true, 80))
				b.apply = func(apply.Pass) apply.Result { return refusedWith(change, code) }
				if b.mustPass(edge); hostname(b.get("joins")) != oldHost {
					t.Errorf("status %q, want %s", hostname(b.get("joins")), oldHost)
				}
				b.apply = func(apply.Pass) apply.Result { return apply.Result{} }
				if held := b.mustHeld(); !slices.Equal(held, []string{"shop/joins"}) {
					t.Errorf("members %q are held, want the one that asks for it", held)
				}
			})
		}
	}
}

// Clients of a name are not to come to a load balancer that has no rules for them. What it serves already it serves on.
func TestAMemberWithAFaultGetsNoStatusAndKeepsTheOneThatItHas(t *testing.T) {
	b := newBed(t, webService(), ingressOf("new", edge), served(ingressOf("old", edge), oldHost, edge), ingressOf("good", edge))
	for _, name := range []string{"new", "old"} {
		b.edit(name, func(i *networkingv1.Ingress) { i.Annotations["alb.ingress.kubernetes.io/scheme"] = "public" })
	}
	b.see(edge, balancer("old", true, 443))
	var proposed []string
	for _, write := range b.propose(edge).Writes {
		if strings.HasSuffix(write.Text, "to the status") {
			proposed = append(proposed, write.Ingress)
		}
	}
	if want := []string{"shop/good", "shop/old"}; !slices.Equal(proposed, want) {
		t.Errorf("statuses of %v are proposed to be written, want those of %v", proposed, want)
	}
	b.mustPass(edge)
	if got := []string{hostname(b.get("new")), hostname(b.get("old")), hostname(b.get("good"))}; !slices.Equal(got, []string{"", oldHost, oldHost}) {
		t.Errorf("statuses of a new bad member, of one that is served, and of a good one: %q", got)
	}
	if ports := b.get("old").Status.LoadBalancer.Ingress[0].Ports; len(ports) != 1 || ports[0].Port != 443 {
		t.Errorf("ports %v of the bad one that is served, want those that there are", ports)
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
