// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/orphans"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// A pass does few late steps, and each member would be told after each of many passes.
func TestSuccessIsToldWhenAllStepsHadTheirTurn(t *testing.T) {
	done, other := steps.Step{Change: steps.Nothing{}}, steps.Step{Change: steps.DeleteTargetGroup{}}
	for name, tc := range map[string]struct {
		steps  steps.Plan
		result apply.Result
		want   []string
	}{
		"some steps are left for the next pass": {steps.Plan{done, done}, apply.Result{Done: steps.Plan{done}}, nil},
		"one waits":                             {steps.Plan{done, other}, apply.Result{Done: steps.Plan{done}, Waits: []steps.Wait{{}}}, nil},
		"one is left out":                       {steps.Plan{done, other}, apply.Result{Done: steps.Plan{done}, LeftOut: []steps.Step{other}}, nil},
		"nothing was to be done":                {nil, apply.Result{}, nil},
		"nothing could be done":                 {steps.Plan{other}, apply.Result{Later: []apply.Failure{{Step: other}}}, nil},
		"all is done":                           {steps.Plan{done, done}, apply.Result{Done: steps.Plan{done, done}}, []string{"a Normal SuccessfullyReconciled: Successfully reconciled"}},
		"something lingers": {
			steps.Plan{done, other}, apply.Result{Done: steps.Plan{done}, Later: []apply.Failure{{Step: other}}},
			[]string{"a Normal SuccessfullyReconciled: Successfully reconciled"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, webService(), served(ingressOf("a", edge), oldHost, edge))
			b.see(edge, balancer("old", true, 80))
			b.MakePlan = func(stack.Stack, stack.Stack) (steps.Plan, []plan.Overflow) { return tc.steps, nil }
			b.apply = func(apply.Pass) apply.Result { return tc.result }
			b.mustPass(edge)
			if diff := cmp.Diff(tc.want, b.events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// Who waits for a load balancer is told when AWS cannot set it up, or takes long.
func TestALoadBalancerThatIsNotActiveIsTold(t *testing.T) {
	failed, front := balancer("new", false, 80), balancer("front", false)
	failed.Failed, front.Network, front.Failed = "no free addresses", true, "no network interface"
	const mend = " (fix that, then delete it in AWS: targetgate creates it again)"
	for name, tc := range map[string]struct {
		seen  stack.Stack
		after time.Duration
		want  []string
		again time.Duration
	}{
		"it is being set up": {seen: stack.Stack{LoadBalancers: []stack.LoadBalancer{balancer("new", false, 80)}}, after: time.Minute, again: setup - time.Minute},
		"that takes long": {
			seen: stack.Stack{LoadBalancers: []stack.LoadBalancer{balancer("new", false, 80)}}, after: setup, again: time.Hour,
			want: []string{"IngressWarning: load balancer new has not been active for 10 minutes, and answers no requests until it is: see its state in AWS"},
		},
		"it has failed": {
			seen: stack.Stack{LoadBalancers: []stack.LoadBalancer{failed}}, after: time.Minute, again: apply.FailedPause,
			want: []string{"FailedDeployModel: Failed deploy model due to load balancer new, which AWS could not set up: no free addresses" + mend},
		},
		"what stands in front has": {
			seen: stack.Stack{
				LoadBalancers: []stack.LoadBalancer{balancer("new", true, 80)}, Front: &stack.Stack{LoadBalancers: []stack.LoadBalancer{front}},
			}, after: time.Minute, again: apply.FailedPause,
			want: []string{"FailedDeployModel: Failed deploy model due to load balancer front, which AWS could not set up: no network interface" + mend},
		},
		"it is active": {seen: stack.Stack{LoadBalancers: []stack.LoadBalancer{balancer("new", true, 80)}}, after: setup, again: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, webService(), served(ingressOf("a", edge), newHost, edge), served(ingressOf("b", edge), newHost, edge))
			b.seen[edge.String()] = tc.seen
			b.mustPass(edge)
			b.clock.Step(tc.after)
			result := b.mustPass(edge)
			var want []string
			for _, member := range []string{"a", "b"} {
				for _, text := range tc.want {
					want = append(want, member+" Warning "+text)
				}
			}
			if diff := cmp.Diff(want, b.events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if result.RequeueAfter != tc.again {
				t.Errorf("again in %v, want %v", result.RequeueAfter, tc.again)
			}
		})
	}
}

func TestAnErrorIsOfTheBuildOrOfWhatFollows(t *testing.T) {
	b := newBed(t, webService(), served(ingressOf("a", edge), oldHost, edge))
	b.apply = func(apply.Pass) apply.Result {
		b.viewErr = errors.New("no answer")
		return apply.Result{}
	}
	for _, reason := range []string{reasonDeploy, reasonBuild} {
		if _, err := b.pass(edge); err == nil || !strings.HasPrefix(b.events[len(b.events)-1], "a Warning "+reason) {
			t.Errorf("error %v, events %q, want one with reason %s", err, b.events, reason)
		}
	}
}

// A fault of a member is no error of a pass, and its group fails all the same.
func TestAGroupFailsWhileAMemberHasAFault(t *testing.T) {
	for _, kind := range []fault.Kind{fault.Wrong, fault.Warning, fault.Refused} {
		b := newBed(t, ingressOf("a", edge))
		p := b.newPass(edge)
		if err := p.load(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.faults = []fault.Fault{{Member: "shop/a", Kind: kind}}
		if (teller{p}).tellFaults(); p.failing == (kind == fault.Warning) {
			t.Errorf("failing: %v, of kind %v", p.failing, kind)
		}
	}
}

func TestWhoIsOnlyWarnedIsReconciled(t *testing.T) {
	b := newBed(t, ingressOf("bad", edge), ingressOf("good", edge), ingressOf("warned", edge))
	p := b.newPass(edge)
	if err := p.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	warning := fault.Fault{Member: "shop/bad", Kind: fault.Warning}
	p.faults = []fault.Fault{{Member: "shop/bad"}, warning, {Member: "shop/warned", Kind: fault.Warning}}
	p.result.Done = []steps.Step{{}}
	teller{p}.tellFaults()
	teller{p}.tellSuccess(nil, nil)
	var reconciled []string
	for _, notice := range p.notices {
		if notice.reason == reasonReconciled {
			reconciled = append(reconciled, notice.on.GetName())
		}
	}
	if diff := cmp.Diff([]string{"good", "warned"}, reconciled); diff != "" {
		t.Errorf("reconciled (-want +got):\n%s", diff)
	}
}

func TestWhatIsWrongIsToldOnceAndSuccessEachTime(t *testing.T) {
	b := newBed(t, webService(), served(ingressOf("a", edge), oldHost, edge))
	b.see(edge, balancer("old", true, 80))
	failure := refusedWith(steps.CreateLoadBalancer{}, "AccessDenied").Failures[0]
	b.apply = func(apply.Pass) apply.Result { return apply.Result{Failures: []apply.Failure{failure, failure}} }
	for range 2 {
		if _, err := b.pass(edge); err == nil || len(b.events) != 1 {
			t.Errorf("error %v, events %q, want one", err, b.events)
		}
	}
	b.apply = func(apply.Pass) apply.Result { return apply.Result{Done: []steps.Step{{}}} }
	for number := range 3 {
		if got := len(take(&b.events)); got != 1 {
			t.Errorf("%d events after pass %d, want one", got, number)
		}
		b.mustPass(edge)
	}
}

// An Ingress that belongs to no group because of a fault is told, and nothing is made or asked of AWS for it.
func TestWhoBelongsToNoGroupIsToldWhy(t *testing.T) {
	stray := ingressOf("stray", edge)
	delete(stray.Annotations, "kubernetes.io/ingress.class")
	first, second := defaultClass("a"), defaultClass("b")
	b := newBed(t, stray, served(ingressOf("fine", edge), "", edge), webService(), first, second)
	b.viewErr = errors.New("AWS is asked")
	own := stack.Group{Namespace: "shop", Name: "stray"}
	for _, requests := range [][]reconcile.Request{b.front.RequestsFor(t.Context(), stray), b.front.RequestsFor(t.Context(), first)} {
		if !slices.Contains(requests, reconcile.Request{NamespacedName: types.NamespacedName(own)}) {
			t.Errorf("passes over %v, want one over %s", requests, own)
		}
	}
	b.mustPass(own)
	want := []string{"stray Warning FailedBuildModel: Failed build model due to spec.ingressClassName: " +
		"is not set, and a and b are both default classes: set it, or leave one default"}
	if diff := cmp.Diff(want, take(&b.events)); diff != "" || len(b.writes) > 0 {
		t.Errorf("writes %q, events (-want +got):\n%s", b.writes, diff)
	}
	if strays, err := b.front.Strays(t.Context()); err != nil || len(strays) != 1 || strays[0].Member != "shop/stray" {
		t.Errorf("strays %v, error %v", strays, err)
	}
	if groups, err := b.front.GroupsOf(t.Context(), nil); err != nil || !slices.Equal(groups, []stack.Group{edge}) {
		t.Errorf("groups %v, error %v, want that of the other Ingress", groups, err)
	}
}

func defaultClass(name string) *networkingv1.IngressClass {
	return &networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{networkingv1.AnnotationIsDefaultIngressClass: "true"}},
		Spec:       networkingv1.IngressClassSpec{Controller: membership.Controller},
	}
}

// A load balancer whose name somebody else's has gets another one, which members are told of; later passes keep it, and after a restart it is
// known for one that a controller has named.
func TestALoadBalancerWhoseNameIsTakenIsKeptUnderAnother(t *testing.T) {
	b := newBed(t, webService(), ingressOf("a", edge), ingressOf("b", edge))
	b.MakePlan = func(wanted, seen stack.Stack) (steps.Plan, []plan.Overflow) {
		b.wanted = wanted
		return plan.Make(wanted, seen, plan.Options{})
	}
	creations := 0
	b.apply = func(pass apply.Pass) (result apply.Result) {
		for _, step := range pass.Plan {
			if c, creates := step.Change.(steps.CreateLoadBalancer); creates {
				creations++
				made := balancer("own", true, 80)
				made.Name = pass.Free(c, steps.Made{ID: "arn-theirs", DNSName: "theirs"})
				b.see(edge, made)
				result.Done = append(result.Done, step)
			}
			if c, creates := step.Change.(steps.CreateSecurityGroup); creates && c.Group.Shared && pass.Free(c, steps.Made{}) != "" {
				t.Error("the shared security group has another name for each group")
			}
		}
		return result
	}
	for range 3 {
		b.mustPass(edge)
		b.memories.forget(edge)
	}
	made := b.seen[edge.String()].LoadBalancers[0]
	wanted := b.wanted.LoadBalancers[0]
	if creations != 1 || made.Name == wanted.Name || made.Name == wanted.SpareName || !orphans.IsNamed(edge, &made) {
		t.Errorf("%d creations, the last of %s", creations, made.Name)
	}
	want := "load balancer " + made.Name + " could not get the name " + wanted.Name + ", which a load balancer of somebody else's had"
	if told := strings.Join(b.events, "\n"); strings.Count(told, want) < 2 {
		t.Errorf("told\n%s\nwant %s", told, want)
	}
}

// What serves and has lost its tags goes on to serve: nothing is made beside it under another name.
func TestNothingIsMadeBesideWhatHasLostItsTags(t *testing.T) {
	b := newBed(t, webService(), served(ingressOf("a", edge), oldHost, edge), ingressOf("b", edge))
	seen := balancer("new", true, 80)
	seen.SecurityGroups = []stack.Ref{{ID: "sg-lost"}}
	b.see(edge, seen)
	var free func(steps.Change, steps.Made) string
	b.apply = func(pass apply.Pass) apply.Result {
		free = pass.Free
		return apply.Result{}
	}
	b.mustPass(edge)
	lost := balancer("old", true)
	for name, tc := range map[string]struct {
		change steps.Change
		holder steps.Made
		free   bool
	}{
		"a load balancer in a status":          {steps.CreateLoadBalancer{}, steps.Made{ID: lost.ARN, DNSName: lost.DNSName}, false},
		"another one":                          {steps.CreateLoadBalancer{}, steps.Made{ID: "arn", DNSName: "theirs"}, true},
		"a security group of a load balancer":  {steps.CreateSecurityGroup{}, steps.Made{ID: "sg-lost"}, false},
		"another security group":               {steps.CreateSecurityGroup{}, steps.Made{ID: "sg-theirs"}, true},
		"that which all groups share":          {steps.CreateSecurityGroup{Group: stack.SecurityGroup{Shared: true}}, steps.Made{ID: "sg-theirs"}, false},
		"a target group, whose name is hashed": {steps.CreateTargetGroup{}, steps.Made{ID: "arn"}, false},
	} {
		if got := free(tc.change, tc.holder); (got != "") != tc.free {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A load balancer that replaces another cannot have its name, which members may have given.
func TestMembersAreToldTheNameOfALoadBalancerThatReplacesAnother(t *testing.T) {
	given := func(name, scheme string) stack.LoadBalancer {
		b := balancer(name, true, 80)
		b.Name, b.Scheme, b.Network = name, scheme, strings.HasSuffix(name, "-nlb")
		return b
	}
	const spare = "k8s-edge-"
	for name, tc := range map[string]struct {
		annotations map[string]string
		front       bool
		want        string // is told of it; "" for nothing
	}{
		"a name that is given": {
			map[string]string{"load-balancer-name": "mine", "scheme": "internet-facing"}, false,
			"(internet-facing) replaces mine (internal), as AWS does not change the scheme of a load balancer. It could not get the name mine, " +
				"which the other one has until it is deleted, and AWS renames none: use k8s-edge-",
		},
		"in front": {
			map[string]string{"load-balancer-name": "mine", "enable-frontend-nlb": "true", "frontend-nlb-scheme": "internet-facing"}, true,
			"-nlb (internet-facing) replaces mine-nlb (internal), as AWS",
		},
		"the scheme stays": {map[string]string{"load-balancer-name": "mine", "scheme": "internal"}, false, ""},
		"no name is given": {map[string]string{"scheme": "internet-facing"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := ingressOf("a", edge)
			tc.annotations["subnets"], tc.annotations["frontend-nlb-subnets"] = "subnet-a,subnet-b", "subnet-a,subnet-b"
			for key, value := range tc.annotations {
				a.Annotations["alb.ingress.kubernetes.io/"+key] = value
			}
			b := newBed(t, webService(), a, ingressOf("b", edge))
			b.see(edge, given("mine", "internal"))
			if tc.front {
				seen := b.seen[edge.String()]
				seen.Front = &stack.Stack{LoadBalancers: []stack.LoadBalancer{given("mine-nlb", "internal")}}
				b.seen[edge.String()] = seen
			}
			b.apply = func(apply.Pass) apply.Result { // makes what is wanted
				for i, wanted := range b.wanted.All() {
					seen := b.seen[edge.String()]
					all := seen.All()
					made := wanted.LoadBalancers[0]
					if made.Name == all[i].LoadBalancers[0].Name && made.Scheme == all[i].LoadBalancers[0].Scheme || len(all[i].LoadBalancers) > 1 {
						continue
					}
					if made.Name == all[i].LoadBalancers[0].Name {
						made.Name = made.SpareName
					}
					made.ARN, made.Active = "arn-"+made.Name, true
					if i == 0 {
						seen.LoadBalancers = append(seen.LoadBalancers, made)
					} else {
						seen.Front = &stack.Stack{LoadBalancers: append(seen.Front.LoadBalancers, made)}
					}
					b.seen[edge.String()] = seen
				}
				return apply.Result{}
			}
			for range 3 {
				b.mustPass(edge)
			}
			told := slices.DeleteFunc(slices.Clone(b.events), func(event string) bool { return !strings.Contains(event, " replaces ") })
			switch {
			case tc.want == "" && len(told) > 0:
				t.Errorf("told %q, want nothing", told)
			case tc.want == "":
			case len(told) != 2 || !strings.Contains(told[0], tc.want) || !strings.Contains(told[0], spare) && !tc.front:
				t.Errorf("told %q, want each of two members told once: %s", told, tc.want)
			}
		})
	}
}
