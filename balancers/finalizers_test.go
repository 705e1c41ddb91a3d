// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/ingress/objects"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

var ingresses = schema.GroupResource{Resource: "ingresses"}

// What such a member has may serve: its finalizer was removed by hand, or the cache does not show yet that it was added.
func TestAMemberThatCannotHaveItsFinalizerIsHeld(t *testing.T) {
	for name, tc := range map[string]struct {
		err    error
		events int
	}{
		"somebody was faster": {apierrors.NewConflict(ingresses, "a", errors.New("changed")), 0},
		"a refusal":           {errors.New("denied by policy"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, webService(), ingressOf("a", edge), served(ingressOf("b", edge), "", edge))
			b.see(edge, balancer("edge", true, 80))
			b.patchErr = tc.err
			if _, err := b.pass(edge); err == nil || len(b.events) != tc.events {
				t.Errorf("error %v, events %q", err, b.events)
			}
			want := []stack.Member{
				{Name: "shop/a", Held: true, Ports: []int32{80}, Hosts: []string{"a.example.com"}}, {Name: "shop/b"},
			}
			if diff := cmp.Diff(want, b.wanted.Members); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"status b"}, b.writes); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

// Rule 18: what is read of a load balancer for the sake of members may not be read, and the last member is gone.
func TestDetailsThatMayNotBeReadHoldUpNoDeletion(t *testing.T) {
	b := newBed(t, webService(), served(ingressOf("a", edge), "", edge))
	b.see(edge, balancer("edge", true, 80))
	b.delete("a")
	b.viewErr = &smithy.GenericAPIError{Code: "AccessDenied"}
	b.MakePlan = func(wanted, seen stack.Stack) (steps.Plan, []plan.Overflow) {
		return plan.Make(wanted, seen, plan.Options{})
	}
	b.apply = func(pass apply.Pass) apply.Result {
		b.see(edge)
		return apply.Result{Done: pass.Plan}
	}
	if b.mustPass(edge); b.exists("a") {
		t.Error("the last Ingress is not let go")
	}
	b = newBed(t, webService(), served(ingressOf("a", edge), "", edge))
	b.see(edge, balancer("edge", true, 80))
	b.delete("a")
	b.partsErr = errors.New("no answer")
	if _, err := b.pass(edge); err == nil || !b.exists("a") || b.planned > 0 {
		t.Errorf("error %v: want the pass to end when nothing is known", err)
	}
}

// Listeners that were not read may have any certificate.
func TestCertificatesOfWhatIsLeftAreKept(t *testing.T) {
	b := newBed(t)
	p := b.newPass(edge)
	p.seen = stack.Stack{LoadBalancers: []stack.LoadBalancer{balancer("edge", true)}}
	if !p.uses("arn") {
		t.Error("a certificate is not used, though nobody knows")
	}
	if p.seen = (stack.Stack{}); p.uses("arn") {
		t.Error("a certificate is used by nothing")
	}
}

// Whoever may write an Ingress may give it thousands of finalizers, each of a group that would be worked on. Its own group has it stay as it
// is meanwhile, and its deletion goes on when most are gone.
func TestFinalizersOfManyGroups(t *testing.T) {
	many := served(ingressOf("a", edge), oldHost, edge)
	for n := range 1_000 {
		many = served(many, "", stack.Group{Name: fmt.Sprint("group-", n)})
	}
	const told = "a Warning FailedBuildModel: Failed build model due to metadata.finalizers: 1001 of them begin with " +
		"group.ingress.k8s.aws/, and an Ingress may have 16: remove all but those of groups that it has belonged to"
	b := newBed(t, webService(), many, served(ingressOf("b", edge), oldHost, edge))
	b.see(edge, balancer("old", true, 80))
	work := func() {
		for _, request := range b.front.RequestsFor(t.Context(), b.get("a")) {
			b.mustPass(stack.Group(request.NamespacedName))
		}
	}
	if work(); b.planned != 16 || !slices.Equal(b.events, []string{told}) {
		t.Errorf("%d groups, want 16, and told %q, want it told once", b.planned, b.events)
	}
	isHeld := func(when string) {
		if b.mustPass(edge); len(b.wanted.Members) != 2 || !b.wanted.Members[0].Held {
			t.Errorf("%s: members %+v, want it held", when, b.wanted.Members)
		}
	}
	isHeld("at first")
	b.edit("a", func(i *networkingv1.Ingress) { i.Annotations["alb.ingress.kubernetes.io/group.name"] = "elsewhere" })
	isHeld("when it is to move")
	b.delete("a")
	if work(); len(b.writes) > 0 {
		t.Errorf("deleted: writes %q", b.writes)
	}
	isHeld("deleted")
	take(&b.events)
	before := b.get("a")
	b.edit("a", func(i *networkingv1.Ingress) { i.Finalizers = []string{membership.FinalizerOf(edge)} })
	if !objects.IngressSaysOtherwise().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: b.get("a")}) {
		t.Error("nobody looks when its finalizers count again")
	}
	if work(); b.exists("a") || len(b.events) > 0 {
		t.Errorf("its deletion does not go on: events %q", b.events)
	}
}

// Whoever may write an Ingress may give it the finalizer of any group.
func TestAFinalizerAloneHoldsNothing(t *testing.T) {
	many := served(ingressOf("a", stack.Group{Name: "own"}), "", edge)
	for n := range 16 {
		many = served(many, "", stack.Group{Name: fmt.Sprint("group-", n)})
	}
	missing := served(ingressOf("a", edge), "", edge)
	delete(missing.Annotations, "kubernetes.io/ingress.class")
	missing.Spec.IngressClassName = ptr.To("missing")
	for name, tc := range map[string]struct {
		ingress *networkingv1.Ingress
		deleted bool
	}{
		"one of another group": {ingress: many},
		"one that is deleted":  {ingress: many, deleted: true},
		"one of no class":      {ingress: missing},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, webService(), tc.ingress.DeepCopy(), served(ingressOf("b", edge), oldHost, edge))
			b.see(edge, balancer("old", true, 80))
			if tc.deleted {
				b.delete("a")
			}
			if b.mustPass(edge); len(b.wanted.Members) != 1 || b.wanted.Members[0].Held {
				t.Errorf("members %+v, want the other one alone", b.wanted.Members)
			}
			for _, request := range b.front.RequestsFor(t.Context(), b.get("a")) {
				b.mustPass(stack.Group(request.NamespacedName))
			}
			others := func(event string) bool { return !strings.HasPrefix(event, "a ") }
			if b.events = slices.DeleteFunc(b.events, others); len(b.events) != 1 {
				t.Errorf("told %q, want it told once", b.events)
			}
			b.delete("b")
			b.steps = steps.Plan{{Change: steps.DeleteLoadBalancer{}}}
			if b.mustPass(edge); len(b.wanted.Members)+len(b.wanted.LoadBalancers) > 0 {
				t.Errorf("wanted %+v, want nothing", b.wanted)
			}
			if p, err := b.Propose(t.Context(), edge); err != nil || len(p.Plan) > 0 || !p.Orphaned {
				t.Errorf("the load balancer, which is left alone, is to be changed: %+v, %v", p, err)
			}
		})
	}
}

// The cache shows it still. Nothing would delete a load balancer that is made for it.
func TestNothingIsMadeForAMemberThatIsGone(t *testing.T) {
	b := newBed(t, webService(), ingressOf("a", edge))
	b.patchErr = apierrors.NewNotFound(ingresses, "a")
	b.mustPass(edge)
	if len(b.wanted.Members)+len(b.wanted.LoadBalancers)+len(b.events) > 0 {
		t.Errorf("wanted %+v, events %q", b.wanted, b.events)
	}
}

func TestAMemberThatIsGoneHasNoFinalizerToLose(t *testing.T) {
	b := newBed(t, webService(), served(ingressOf("a", edge), "", edge))
	b.delete("a")
	b.patchErr = apierrors.NewNotFound(ingresses, "a")
	if b.mustPass(edge); len(b.events) > 0 {
		t.Errorf("events %q", b.events)
	}
}

// A load balancer goes after the one in front of it. Until then its Ingress keeps the finalizer, unless somebody protects the one in front.
func TestAFinalizerWaitsForWhatStandsInFront(t *testing.T) {
	for name, protected := range map[string]bool{"one that goes": false, "one that is protected": true} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, served(ingressOf("a", edge), oldHost, edge))
			b.see(edge, balancer("old", true, 80))
			b.delete("a")
			b.apply = func(apply.Pass) (out apply.Result) {
				if protected {
					out = refusedWith(steps.DeleteLoadBalancer{}, "OperationNotPermitted")
				}
				out.Waits = []steps.Wait{{Gone: stack.Ref{ID: "nlb", Part: stack.FrontPart}}}
				return out
			}
			_, _ = b.pass(edge) // a protected one is an error
			err := b.Client.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "a"}, &networkingv1.Ingress{})
			if gone := apierrors.IsNotFound(err); gone != protected {
				t.Errorf("the Ingress is gone: %v, %v", gone, err)
			}
		})
	}
}

// It has been replaced, and is protected: what it needs stays.
func TestNobodyWaitsForTheEndOfALoadBalancer(t *testing.T) {
	b := newBed(t, webService(), served(ingressOf("a", edge), oldHost, edge), served(ingressOf("b", edge), "elsewhere", edge))
	b.see(edge, balancer("old", true, 80))
	b.seeGroup(edge, "shop/a-web:80")
	b.delete("a")
	b.apply = func(apply.Pass) apply.Result {
		out := refusedWith(steps.DeleteLoadBalancer{}, "OperationNotPermitted")
		out.Waits = []steps.Wait{{Gone: stack.Ref{ID: "arn-former", Part: stack.LoadBalancerPart}}}
		return out
	}
	_, _ = b.pass(edge) // it is an error that it is protected
	err := b.Client.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "a"}, &networkingv1.Ingress{})
	if !apierrors.IsNotFound(err) || !slices.Contains(b.writes, "status b") {
		t.Errorf("the Ingress that is deleted: %v; writes %q, want the status of the other one", err, b.writes)
	}
}

// Something new waits for its targets, and a member is deleted whose name begins that of a held one.
func TestADeletedMemberWaitsForItsOwnTargetGroupsAlone(t *testing.T) {
	group := stack.TargetGroup{ARN: "arn", Part: "shop/a-b-web:80"}
	bindingOf := func(service string) []stack.Binding {
		return []stack.Binding{{Namespace: "shop", Group: stack.Ref{ID: "arn"}, Spec: stack.BindingSpec{Service: service}}}
	}
	for name, tc := range map[string]struct {
		group    stack.TargetGroup
		bindings []stack.Binding
		want     bool // it waits
	}{
		"one of the held member":         {group, bindingOf("web"), false},
		"one that may be the held one's": {group, nil, false},
		"one of its own":                 {group, bindingOf("b-web"), true},
		"one that can only be its own":   {stack.TargetGroup{ARN: "arn", Part: "shop/a-web:80"}, nil, true},
		"one of another Ingress":         {stack.TargetGroup{ARN: "arn", Part: "shop/c-web:80"}, nil, false},
	} {
		p := claims{&pass{
			wanted: stack.Stack{Members: []stack.Member{{Name: "shop/a-b", Held: true}, {Name: "shop/c"}}},
			seen: stack.Stack{
				LoadBalancers: []stack.LoadBalancer{balancer("edge", true, 80)}, TargetGroups: []stack.TargetGroup{tc.group}, Bindings: tc.bindings,
			},
			result: apply.Result{Waits: []steps.Wait{{Healthy: stack.Ref{Part: "shop/c-web:80"}}}},
		}}
		if got := !p.isTakenAway(ingressOf("a", edge)); got != tc.want {
			t.Errorf("%s: it waits: %v, want %v", name, got, tc.want)
		}
	}
}

// A pass reads AWS again after its steps, and what bindings say counts then, too.
func TestADeletedMemberWaitsForATargetGroupThatABindingSaysIsItsOwn(t *testing.T) {
	held := served(ingressOf("a-b", edge), oldHost, edge)
	held.Annotations["alb.ingress.kubernetes.io/target-type"] = "none"
	own := bindingOf("shop", "own", edge, "arn-shop/a-b-web:80")
	own.Spec.ServiceRef = v1beta1.ServiceReference{Name: "b-web", Port: intstr.FromInt32(80)}
	b := newBed(t, webService(), served(ingressOf("a", edge), oldHost, edge), held, served(ingressOf("c", edge), oldHost, edge), own)
	b.see(edge, balancer("old", true, 80))
	b.seeGroup(edge, "shop/a-b-web:80")
	b.delete("a")
	b.apply = func(apply.Pass) apply.Result {
		return apply.Result{Waits: []steps.Wait{{Healthy: stack.Ref{Part: part("c")}}}}
	}
	if b.mustPass(edge); !b.exists("a") {
		t.Error("its finalizer is gone, while its target group serves")
	}
}

// needed are how many Secrets groups need.
type needed map[stack.Group]int

func (n needed) Of(_ context.Context, group stack.Group, keys []types.NamespacedName) map[types.NamespacedName]lookup.Secret {
	n[group] = len(keys)
	return nil
}

// Nobody would stop to watch them.
func TestAGroupThatEndsNeedsNoSecret(t *testing.T) {
	member := served(ingressOf("a", edge), "", edge)
	member.Annotations["alb.ingress.kubernetes.io/auth-type"] = "oidc"
	member.Annotations["alb.ingress.kubernetes.io/auth-idp-oidc"] = `{"issuer":"https://idp","authorizationEndpoint":"https://idp/a",` +
		`"tokenEndpoint":"https://idp/t","userInfoEndpoint":"https://idp/u","secretName":"login"}`
	b, secrets := newBed(t, webService(), member), needed{}
	b.front.Secrets = secrets
	b.mustPass(edge)
	before := secrets[edge]
	b.delete("a")
	if b.mustPass(edge); before != 1 || secrets[edge] != 0 {
		t.Errorf("the group needs %d Secrets before its end, %d after it", before, secrets[edge])
	}
}

// All others are held, so that nobody wants a load balancer: what the deleted one has there goes all the same.
func TestWhatADeletedMemberHasGoesBesideHeldOnes(t *testing.T) {
	b := newBed(t, webService(), served(ingressOf("a", edge), oldHost, edge), served(ingressOf("b", edge), oldHost, edge))
	b.edit("b", func(i *networkingv1.Ingress) { i.Annotations["alb.ingress.kubernetes.io/target-type"] = "none" })
	old := balancer("old", true, 80)
	old.Listeners[0].Default = stack.Action{Fixed: &stack.FixedResponse{Status: "404", ContentType: "text/plain"}}
	for i, name := range []string{"a", "b"} {
		old.Listeners[0].Rules = append(old.Listeners[0].Rules, stack.Rule{
			ARN: "rule of " + name, Priority: int32(i + 1),
			Action: stack.Action{Forward: &stack.Forward{Groups: []stack.Weighted{{Group: stack.Ref{ID: "arn-" + part(name)}, Weight: 1}}}},
		})
	}
	b.see(edge, old)
	b.seeGroup(edge, part("a"))
	b.seeGroup(edge, part("b"))
	b.delete("a")
	b.MakePlan = func(wanted, seen stack.Stack) (steps.Plan, []plan.Overflow) {
		return plan.Make(wanted, seen, plan.Options{})
	}
	var got []string
	b.apply = func(pass apply.Pass) (out apply.Result) {
		for _, step := range pass.Plan {
			got = append(got, step.String())
		}
		if !b.exists("a") {
			t.Error("the Ingress is gone before its rule")
		}
		return apply.Result{Done: pass.Plan}
	}
	b.mustPass(edge)
	want := []string{"delete rule 80:1", "delete target group shop/a-web:80 (arn-shop/a-web:80)"}
	if diff := cmp.Diff(want, got); diff != "" || b.exists("a") {
		t.Errorf("the Ingress exists: %v; steps (-want +got):\n%s", b.exists("a"), diff)
	}
}
