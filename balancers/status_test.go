// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

func TestTheStatusMovesBeforeTheOldLoadBalancerGoes(t *testing.T) {
	guarded, acl := served(ingressOf("a", edge), oldHost, edge), testACL
	guarded.Annotations["alb.ingress.kubernetes.io/wafv2-acl-arn"] = acl
	b := newBed(t, webService(), guarded)
	b.see(edge, balancer("old", true, 80), balancer("new", true, 80))
	var left time.Duration
	wait := steps.Wait{Healthy: stack.Ref{ID: "tg"}}
	b.apply = func(pass apply.Pass) apply.Result {
		left = pass.Unsettled("arn-old")
		return apply.Result{Waits: []steps.Wait{wait}, Again: time.Minute}
	}
	if b.mustPass(edge); hostname(b.get("a")) != oldHost || left != DefaultSettleTime {
		t.Errorf("status %s, %v left", hostname(b.get("a")), left)
	}
	wait = steps.Wait{Settled: stack.Ref{ID: "arn-old"}}
	b.steps = steps.Plan{{Change: steps.Set{Setting: steps.WebACL, LoadBalancer: stack.Ref{ID: "arn-new"}, Value: acl}}}
	failures := []apply.Failure{{Step: b.steps[0], Err: errors.New("no answer")}}
	guard := b.apply
	b.apply = func(pass apply.Pass) apply.Result {
		result := guard(pass)
		result.Failures = failures
		return result
	}
	if _, err := b.pass(edge); err == nil || hostname(b.get("a")) != oldHost {
		t.Errorf("status %s, error %v: the new load balancer has no web ACL", hostname(b.get("a")), err)
	}
	failures, b.steps = nil, nil
	b.clock.Step(time.Hour)
	if b.mustPass(edge); hostname(b.get("a")) != newHost || left != DefaultSettleTime {
		t.Errorf("status %s, %v left", hostname(b.get("a")), left)
	}
	b.clock.Step(time.Minute)
	if b.mustPass(edge); left != DefaultSettleTime-time.Minute {
		t.Errorf("%v left a minute after the status moved", left)
	}
	b.clock.Step(DefaultSettleTime)
	if b.mustPass(edge); left != 0 {
		t.Errorf("%v left after the time", left)
	}
}

// Clients of a name are not to come before the web ACL is there.
func TestTheStatusHasNoNameBeforeTheWebACL(t *testing.T) {
	to := stack.Ref{ID: "arn-new"}
	for name, guard := range map[string]steps.Change{
		"AWS WAF": steps.Set{Setting: steps.WebACL, LoadBalancer: to, Value: testACL}, "AWS WAF Classic": steps.Set{Setting: steps.ClassicACL, LoadBalancer: to, Value: "id"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, webService(), ingressOf("a", edge))
			b.see(edge, balancer("new", false, 80))
			cleared := steps.Step{Change: steps.Set{Setting: steps.ClassicACL, LoadBalancer: to}}
			b.steps = steps.Plan{cleared, {Change: guard}}
			b.apply = func(apply.Pass) apply.Result {
				return apply.Result{Done: steps.Plan{cleared}, Waits: []steps.Wait{{Active: to}}}
			}
			if b.mustPass(edge); hostname(b.get("a")) != "" {
				t.Errorf("status %s before the web ACL", hostname(b.get("a")))
			}
			b.apply = func(pass apply.Pass) apply.Result { return apply.Result{Done: pass.Plan} }
			if b.mustPass(edge); hostname(b.get("a")) != newHost {
				t.Errorf("status %s with the web ACL, want %s", hostname(b.get("a")), newHost)
			}
		})
	}
}

// That a web ACL is taken off keeps nobody waiting.
func TestTheStatusHasTheNameThoughAWebACLIsTakenOffLater(t *testing.T) {
	b := newBed(t, webService(), ingressOf("a", edge))
	b.see(edge, balancer("new", false, 80))
	b.steps = steps.Plan{{Change: steps.Set{Setting: steps.ClassicACL, LoadBalancer: stack.Ref{ID: "arn-new"}}}}
	b.apply = func(apply.Pass) apply.Result {
		return apply.Result{Waits: []steps.Wait{{Active: stack.Ref{ID: "arn-new"}}}}
	}
	if b.mustPass(edge); hostname(b.get("a")) != newHost {
		t.Errorf("status %q, want %s", hostname(b.get("a")), newHost)
	}
}

func TestTheStatusHasTheNameBeforeTheRestIsMade(t *testing.T) {
	b := newBed(t, webService(), ingressOf("a", edge))
	b.steps = steps.Plan{{Change: steps.CreateLoadBalancer{}}, {Change: steps.CreateTargetGroup{}}}
	var did int
	b.apply = func(pass apply.Pass) apply.Result {
		did = len(pass.Plan)
		b.see(edge, balancer("old", false, 80))
		return apply.Result{Done: pass.Plan}
	}
	result := b.mustPass(edge)
	if hostname(b.get("a")) != oldHost || did != 1 || result.RequeueAfter != time.Millisecond || len(b.events) != 0 {
		t.Errorf("status %q, %d steps, again in %v, events %q", hostname(b.get("a")), did, result.RequeueAfter, b.events)
	}
	if result := b.mustPass(edge); did != 2 || result.RequeueAfter == time.Millisecond || len(b.events) != 1 {
		t.Errorf("%d steps, again in %v, events %q, want the rest to be done", did, result.RequeueAfter, b.events)
	}
}

// What AWS does not show yet is asked for again after a pause, by the first pass over a group as by any other.
func TestAFirstLoadBalancerThatIsNotMadeYetIsAwaited(t *testing.T) {
	b := newBed(t, webService(), ingressOf("a", edge))
	b.steps = steps.Plan{{Change: steps.CreateLoadBalancer{}}, {Change: steps.CreateTargetGroup{}}}
	b.apply = func(pass apply.Pass) apply.Result { return apply.Result{LeftOut: pass.Plan, Again: laterThis} }
	if result := b.mustPass(edge); result.RequeueAfter != laterThis {
		t.Errorf("again in %v, want it in %v", result.RequeueAfter, laterThis)
	}
}

// An active load balancer is different: DNS would lead clients there before it has rules for them.
func TestAMemberThatJoinsHasTheNameAtOnceUntilTheLoadBalancerIsActive(t *testing.T) {
	for _, active := range []bool{false, true} {
		b := newBed(t, webService(), ingressOf("a", edge))
		b.see(edge, balancer("old", active, 80))
		b.apply = func(apply.Pass) apply.Result {
			if early := hostname(b.get("a")) != ""; early == active {
				t.Errorf("active: %v; status before the rest is made: %v", active, early)
			}
			return apply.Result{}
		}
		if b.mustPass(edge); hostname(b.get("a")) != oldHost {
			t.Errorf("active: %v; status %q", active, hostname(b.get("a")))
		}
	}
}

// Other controllers show addresses.
func TestTheStatusOfAnotherControllerStaysUntilTheLoadBalancerIsActive(t *testing.T) {
	member := ingressOf("a", edge)
	elsewhere := []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.1"}}
	member.Status.LoadBalancer.Ingress = elsewhere
	b := newBed(t, webService(), member)
	b.see(edge, balancer("old", false, 80))
	b.mustPass(edge)
	if diff := cmp.Diff(elsewhere, b.get("a").Status.LoadBalancer.Ingress); diff != "" {
		t.Errorf("status before the load balancer is active (-want +got):\n%s", diff)
	}
	b.see(edge, balancer("old", true, 80))
	if b.mustPass(edge); hostname(b.get("a")) != oldHost {
		t.Errorf("status %s, want %s", hostname(b.get("a")), oldHost)
	}
}

func TestAnIngressIsGoneWhenNothingOfItServes(t *testing.T) {
	protected := refusedWith(steps.DeleteLoadBalancer{}, "OperationNotPermitted")
	unhealthy := apply.Result{Waits: []steps.Wait{{Healthy: stack.Ref{Part: part("b")}}}}
	closed := apply.Result{Waits: []steps.Wait{{Open: stack.Ref{ID: "tg", Part: part("b")}}}}
	for name, tc := range map[string]struct {
		result   apply.Result
		balancer bool
		group    string // the resource tag of a target group that is left
		gone     bool
	}{
		"nothing is left":                              {gone: true},
		"the load balancer serves others":              {balancer: true, gone: true},
		"the load balancer is protected":               {balancer: true, result: protected, gone: true},
		"a security group lingers":                     {balancer: true, result: apply.Result{Later: []apply.Failure{{}}, Again: time.Minute}, gone: true},
		"its rule cannot be deleted":                   {balancer: true, result: refusedWith(steps.DeleteRule{}, "OperationNotPermitted")},
		"an attribute of the load balancer is refused": {balancer: true, result: refusedWith(steps.SetLoadBalancerAttributes{}, "InvalidConfigurationRequest"), gone: true},
		"steps were left out":                          {balancer: true, result: apply.Result{LeftOut: []steps.Step{{}}}},
		"its target group serves until another does":   {balancer: true, group: part("a"), result: unhealthy},
		"the target group of another one is awaited":   {balancer: true, group: part("b"), result: unhealthy, gone: true},
		"only clients of the old name are awaited":     {balancer: true, result: apply.Result{Waits: []steps.Wait{{Settled: stack.Ref{ID: "arn"}}}}, gone: true},
		"targets do not let in the load balancer yet":  {balancer: true, group: part("a"), result: closed, gone: true},
		"the load balancer is gone, and a step failed": {result: apply.Result{LeftOut: []steps.Step{{}}}, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, served(ingressOf("a", edge), oldHost, edge))
			b.delete("a")
			b.see(edge, balancer("old", true, 80))
			b.apply = func(apply.Pass) apply.Result {
				if !tc.balancer {
					b.see(edge)
				}
				if tc.group != "" {
					b.seeGroup(edge, tc.group)
				}
				return tc.result
			}
			if _, err := b.pass(edge); (err != nil) != (len(tc.result.Failures) > 0) {
				t.Errorf("error %v", err)
			}
			if b.exists("a") == tc.gone {
				t.Errorf("the Ingress exists: %v", !tc.gone)
			}
			if len(tc.result.Failures) > 0 && len(b.events) != 1 {
				t.Errorf("events %q, want one on the Ingress that is deleted", b.events)
			}
		})
	}
}
