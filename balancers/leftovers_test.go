// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/issue"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/shared"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// listed are the stacks that there are in AWS.
type listed struct {
	ids []stack.ID
	err error
}

func (l listed) Stacks(context.Context) ([]stack.ID, error) { return l.ids, l.err }

func TestGroupsOfWhatIsLeft(t *testing.T) {
	b := newBed(t)
	b.Stacks = listed{ids: []stack.ID{
		{Cluster: "prod", Kind: stack.Ingresses, Name: "edge"}, {Cluster: "prod", Kind: stack.Ingresses, Name: "shop/web"},
		{Cluster: "prod", Kind: "service.k8s.aws", Name: "shop/nlb"},
	}}
	want := []reconcile.Request{
		{NamespacedName: types.NamespacedName{Name: "edge"}}, {NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}},
	}
	got, err := b.leftovers(t.Context())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("requests (-want +got):\n%s\nerror %v", diff, err)
	}
	b.Stacks = listed{err: errors.New("no answer")}
	if _, err := b.leftovers(t.Context()); err == nil {
		t.Error("no error, want that of AWS")
	}
}

func TestWhatIsLeftIsAskedForAtTheStart(t *testing.T) {
	b := newBed(t)
	b.Stacks = listed{ids: []stack.ID{{Kind: stack.Ingresses, Name: "edge"}}}
	queue := b.newQueue("", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	if err := b.enqueueLeftovers(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	if got, _ := queue.Get(); stack.Group(got.NamespacedName) != edge {
		t.Errorf("group %v, want %v", got, edge)
	}
}

// Rule 17: what another controller may be making is left alone, and so is a load balancer of which nobody says that it may go.
func TestOnlyWhatNobodyAsksForIsCollected(t *testing.T) {
	foreign := ingressOf("foreign", edge)
	foreign.Annotations["kubernetes.io/ingress.class"] = "other"
	named := ingressOf("web", other)
	named.Annotations = nil
	named.Spec.IngressClassName = ptr.To("other")
	web := stack.Group{Namespace: "shop", Name: "web"}
	going := ingressOf("going", edge)
	going.DeletionTimestamp, going.Finalizers = ptr.To(metav1.Now()), []string{membership.FinalizerOf(other)}
	left := stack.Stack{TargetGroups: []stack.TargetGroup{{ARN: "tg", Name: "k8s-shop-web-0123456789"}}, SecurityGroups: []stack.SecurityGroup{{ID: "sg"}}}
	serving := left
	serving.LoadBalancers = []stack.LoadBalancer{balancer("old", true, 80)}
	for name, tc := range map[string]struct {
		group   stack.Group
		seen    stack.Stack
		objects []client.Object
		want    int // plans
	}{
		"nobody asks for it":                        {edge, left, nil, 1},
		"another controller's Ingress names it":     {edge, left, []client.Object{foreign}, 0},
		"another controller's Ingress has its name": {web, left, []client.Object{named}, 0},
		"an Ingress names it that is being deleted": {edge, left, []client.Object{going}, 1},
		"another group is named":                    {other, left, []client.Object{foreign}, 1},
		"it has a load balancer":                    {edge, serving, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, tc.objects...)
			b.seen[tc.group.String()] = tc.seen
			if b.mustPass(tc.group); b.planned != tc.want {
				t.Errorf("%d plans, want %d", b.planned, tc.want)
			}
			if len(b.wanted.Members)+len(b.wanted.LoadBalancers) > 0 {
				t.Errorf("wanted %+v, want nothing", b.wanted)
			}
		})
	}
}

// inUse is an Issuer whose certificate cannot be deleted.
type inUse struct{ listed }

func (inUse) Keep(context.Context, stack.ID, []stack.Certificate, func(string) bool) issue.Kept {
	return issue.Kept{InUse: map[string]error{"arn-certificate": &smithy.GenericAPIError{Code: "ResourceInUseException", Message: "in use"}}}
}

// Rule 12: what somebody else must let go of takes few calls, and is told once.
func TestWhatCannotBeRemovedIsTriedLessAndLessOften(t *testing.T) {
	later := refusedWith(steps.DeleteSecurityGroup{Group: stack.Ref{ID: "sg-1"}}, "DependencyViolation").Failures
	for name, tc := range map[string]struct {
		members []client.Object
		later   []apply.Failure
		issuer  Issuer
		said    string
	}{
		"a security group":                 {[]client.Object{served(ingressOf("a", edge), oldHost, edge)}, later, nil, "sg-1: DependencyViolation: no"},
		"a security group without Ingress": {nil, later, nil, "sg-1: DependencyViolation: no"},
		"a certificate":                    {[]client.Object{served(ingressOf("a", edge), oldHost, edge)}, nil, inUse{}, "arn-certificate: ResourceInUseException: in use"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, append(tc.members, webService())...)
			if b.Issuer = tc.issuer; len(tc.members) > 0 {
				b.see(edge, balancer("old", true, 80))
			}
			b.apply = func(apply.Pass) apply.Result { return apply.Result{Later: tc.later} }
			var logged []string
			ctx := logr.NewContext(t.Context(), funcr.New(func(_, line string) { logged = append(logged, line) }, funcr.Options{}))
			var pauses []time.Duration
			for begun := b.clock.Now(); b.clock.Since(begun) < 24*time.Hour && len(pauses) < 1000; {
				result, err := b.Reconcile(ctx, requestOf(edge))
				if err != nil || result.RequeueAfter == 0 {
					t.Fatalf("again in %v, error %v", result.RequeueAfter, err)
				}
				pauses = append(pauses, result.RequeueAfter)
				b.clock.Step(result.RequeueAfter)
			}
			if len(pauses) > 150 || !slices.IsSorted(pauses) || pauses[29] != lingerPause || pauses[30] != lingerPatience/10 || pauses[len(pauses)-1] != time.Hour {
				t.Errorf("pauses %v, want them to grow", pauses)
			}
			if len(logged) != 1 || len(b.events) != len(tc.members) || len(b.events) > 0 && !strings.HasSuffix(b.events[0], tc.said+". Remove the cause: until then, targetgate retries less and less often") {
				t.Errorf("log %q, events %q, want one line, and one event on each Ingress", logged, b.events)
			}
			b.Issuer = nil
			b.apply = func(apply.Pass) apply.Result {
				return apply.Result{Later: refusedWith(steps.DeleteSecurityGroup{Group: stack.Ref{ID: "sg-2"}}, "DependencyViolation").Failures}
			}
			if result := b.mustPass(edge); result.RequeueAfter != lingerPause {
				t.Errorf("again in %v for something else, want %v", result.RequeueAfter, lingerPause)
			}
		})
	}
}

// What AWS or the registrar is still at ends by itself: there is no cause to remove.
func TestWhatIsBeingDoneIsTriedAgainUntold(t *testing.T) {
	capacity := refusedWith(steps.Set{Setting: steps.Capacity, LoadBalancer: stack.Ref{ID: "arn-old"}, Value: "100"}, "CapacityReservationPending").Failures
	binding := []apply.Failure{{Step: steps.Step{Change: steps.DeleteBinding{Namespace: "shop", Name: "a"}}, Err: apply.ErrLingers}}
	for name, tc := range map[string]struct {
		later []apply.Failure
		told  string
	}{
		"a capacity": {later: capacity},
		"a binding": {binding, "a Warning IngressWarning: Cannot delete binding shop/a yet: the TargetGroupBinding remains until targetgate has deregistered its " +
			"targets. Its conditions say what prevents that"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, webService(), served(ingressOf("a", edge), oldHost, edge))
			b.see(edge, balancer("old", true, 80))
			b.apply = func(apply.Pass) apply.Result { return apply.Result{Later: tc.later} }
			for begun := b.clock.Now(); b.clock.Since(begun) < 3*lingerPatience; b.clock.Step(lingerPause) {
				if result := b.mustPass(edge); result.RequeueAfter != lingerPause {
					t.Fatalf("again in %v after %v, want %v", result.RequeueAfter, b.clock.Since(begun), lingerPause)
				}
			}
			if told := take(&b.events); strings.Join(told, "\n") != tc.told {
				t.Errorf("events %q, want %q", told, tc.told)
			}
		})
	}
}

// While the security group that load balancers share is deleted no pass begins that may need it; the end of a group has it looked at.
func TestAPassWaitsWhileTheSharedSecurityGroupIsDeleted(t *testing.T) {
	b := newBed(t, webService(), ingressOf("a", edge))
	deleted := make(chan ctrl.Result)
	collector := shared.New(shared.Options{
		Client: b.Client, View: sharing{}, Applier: b, Clock: b.clock, Cluster: "prod", Interval: time.Hour, Held: b.front.Held,
	})
	b.Shared = collector
	b.apply = func(pass apply.Pass) apply.Result {
		if pass.ID.Name == "" { // it is deleted, as no Ingress has the finalizer yet
			deleted <- b.mustPass(edge)
		}
		return apply.Result{}
	}
	if err := collector.Start(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if result := <-deleted; result.RequeueAfter != shared.Pause || len(b.writes) > 0 || b.planned > 0 {
		t.Errorf("again in %v, writes %q, %d plans while it is deleted", result.RequeueAfter, b.writes, b.planned)
	}
	for b.mustPass(edge); b.planned == 0; b.mustPass(edge) { // it may be still at its end
		time.Sleep(time.Millisecond)
	}
}

// sharing is an account with a shared security group that nothing uses.
type sharing struct{}

func (sharing) Shared(context.Context) ([]stack.SecurityGroup, error) {
	return []stack.SecurityGroup{{ID: "sg-shared", Name: stack.BackendSecurityGroupName("prod"), Shared: true}}, nil
}

func (sharing) Uses(context.Context, string) (stack.Uses, error) { return stack.Uses{}, nil }

// What others tag into a group is no part of any plan for it, also when its last Ingress goes; members are told of it once.
func TestNothingIsPlannedForWhatOthersTagIntoAGroup(t *testing.T) {
	for _, goes := range []bool{false, true} {
		last := served(ingressOf("a", edge), oldHost, edge)
		b := newBed(t, webService(), last)
		theirs := balancer("new", true, 80)
		b.see(edge, balancer("old", true, 80), theirs)
		seen := b.seen[edge.String()]
		seen.LoadBalancers[1].Name = "theirs"
		seen.TargetGroups = []stack.TargetGroup{{ARN: "arn-group", Name: "theirs", Part: "shop/a-web:80"}}
		seen.SecurityGroups = []stack.SecurityGroup{{ID: "sg-theirs", Name: "theirs"}}
		b.seen[edge.String()] = seen
		var planned stack.Stack
		b.MakePlan = func(_, seen stack.Stack) (steps.Plan, []plan.Overflow) {
			planned = seen
			return nil, nil
		}
		if goes {
			b.delete("a")
		}
		b.mustPass(edge)
		b.mustPass(edge)
		if len(planned.LoadBalancers) != 1 || planned.LoadBalancers[0].ARN != "arn-old" || len(planned.TargetGroups)+len(planned.SecurityGroups) > 0 {
			t.Errorf("the last one goes: %v: planned for %+v", goes, planned)
		}
		told := strings.Join(b.events, "\n")
		for _, what := range []string{"load balancer theirs", "target group theirs", "security group sg-theirs (theirs)"} {
			if strings.Count(told, what+" has the tags of group edge") != 1 {
				t.Errorf("the last one goes: %v: told\n%s\nwant once of %s", goes, told, what)
			}
		}
	}
}
