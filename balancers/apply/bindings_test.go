// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// webBinding is one with all that a stack can say.
func webBinding() stack.Binding {
	return stack.Binding{Namespace: "shop", Name: "k8s-web", Group: stack.Ref{ID: "tg-a"}, Spec: stack.BindingSpec{
		Service: "web", Port: intstr.FromString("http"), TargetType: "instance", Protocol: "HTTP", AddressType: "ipv4", VPC: "vpc-1",
		Networking: []intstr.IntOrString{intstr.FromInt32(8080), intstr.FromInt32(0)}, Peer: stack.Ref{ID: "sg-1"},
		NodeSelector: map[string]string{"pool": "web"}, MultiCluster: true,
		Labels: map[string]string{"ingress.k8s.aws/stack": "shop"},
	}}
}

func clientWith(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

func runBindings(t *testing.T, c client.Client, changes ...steps.Change) (Result, *noted, *fakeAWS) {
	t.Helper()
	view, f := &noted{}, good()
	a := &Applier{Calls: f.clients(), View: view, Bindings: c}
	return a.Run(t.Context(), Pass{ID: shop, Plan: do(changes...)}), view, f
}

func get(t *testing.T, c client.Client) *v1beta1.TargetGroupBinding {
	t.Helper()
	out := &v1beta1.TargetGroupBinding{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "k8s-web"}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestABindingThatIsMadeIsReadBack(t *testing.T) {
	for name, spec := range map[string]func(*stack.BindingSpec){
		"with all":         func(*stack.BindingSpec) {},
		"without rules":    func(s *stack.BindingSpec) { s.Networking, s.Peer = nil, stack.Ref{} },
		"without selector": func(s *stack.BindingSpec) { s.NodeSelector = nil },
	} {
		t.Run(name, func(t *testing.T) {
			c, want := clientWith(t), webBinding()
			spec(&want.Spec)
			if result, _, _ := runBindings(t, c, steps.CreateBinding{Binding: want}); len(result.Done) != 1 {
				t.Fatalf("result %+v", result)
			}
			if diff := cmp.Diff(want, Binding(get(t, c))); diff != "" {
				t.Errorf("binding (-made +read):\n%s", diff)
			}
		})
	}
}

// Rule 15: a load balancer keeps its security groups until targets let in others.
func TestABindingSaysWhetherItsRulesAreThere(t *testing.T) {
	condition := func(status metav1.ConditionStatus, generation int64) []metav1.Condition {
		return []metav1.Condition{{
			Type: v1beta1.ConditionNetworkingReady, Status: status, ObservedGeneration: generation, Reason: "Reason", Message: "why",
		}}
	}
	const unseen = "the binding's last change has not been acted on"
	for name, tc := range map[string]struct {
		conditions []metav1.Condition
		acted      int64
		ruleless   bool
		want       string
	}{
		"they are there":                          {conditions: condition(metav1.ConditionTrue, 3), acted: 2},
		"they are being made":                     {conditions: condition(metav1.ConditionUnknown, 3), acted: 3, want: "why"},
		"they cannot be made":                     {conditions: condition(metav1.ConditionFalse, 3), acted: 3, want: "why"},
		"those of before were there":              {conditions: condition(metav1.ConditionTrue, 2), acted: 2, want: unseen},
		"nobody has looked at it":                 {acted: -1, want: unseen},
		"nobody makes rules":                      {acted: 3},
		"nobody makes rules any more":             {conditions: condition(metav1.ConditionFalse, 2), acted: 3},
		"it asks for none any more, and had none": {conditions: condition(metav1.ConditionFalse, 2), acted: 2, ruleless: true},
	} {
		t.Run(name, func(t *testing.T) {
			object := &v1beta1.TargetGroupBinding{}
			setBinding(object, webBinding())
			if tc.ruleless {
				object.Spec.Networking = nil
			}
			object.Generation, object.Status.ObservedGeneration, object.Status.Conditions = 3, &tc.acted, tc.conditions
			if got := Binding(object).Awaited; got != tc.want {
				t.Errorf("it waits for %q, want %q", got, tc.want)
			}
		})
	}
}

func TestTheRulesOfABindingAreTheIncumbents(t *testing.T) {
	c := clientWith(t)
	runBindings(t, c, steps.CreateBinding{Binding: webBinding()})
	rules := get(t, c).Spec.Networking.Ingress
	if len(rules) != 2 || len(rules[0].Ports) != 1 || rules[0].Ports[0].Port.IntVal != 8080 || *rules[0].Ports[0].Protocol != "TCP" ||
		rules[0].From[0].SecurityGroup.GroupID != "sg-1" || rules[1].Ports[0].Port != nil {
		t.Errorf("rules %+v, want one for each port", rules)
	}
}

func TestCreateOfABindingThatExists(t *testing.T) {
	for name, tc := range map[string]struct {
		labels map[string]string
		group  string
		fault  string
	}{
		"ours, with a label of the user": {labels: map[string]string{"ingress.k8s.aws/stack": "shop", "team": "web"}, group: "tg-a"},
		"of another stack":               {labels: map[string]string{"ingress.k8s.aws/stack": "other"}, group: "tg-x", fault: "not this stack's"},
		"ours, with another's labels":    {labels: map[string]string{"ingress.k8s.aws/stack": "other", "team": "web"}, group: "tg-a"},
		"ours, with a label too many": {
			labels: map[string]string{"ingress.k8s.aws/stack": "shop", "ingress.k8s.aws/stack-name": "other", "team": "web"}, group: "tg-a",
		},
		"ours, whose labels were taken":   {labels: map[string]string{"team": "web"}, group: "tg-a"},
		"ours, for another target group":  {labels: map[string]string{"ingress.k8s.aws/stack": "shop"}, group: "tg-old", fault: "another target group"},
		"by hand, for none of our groups": {group: "tg-x", fault: "not this stack's"},
	} {
		t.Run(name, func(t *testing.T) {
			c := clientWith(t, &v1beta1.TargetGroupBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "k8s-web", Labels: tc.labels, Annotations: map[string]string{"a": "b"}},
				Spec:       v1beta1.TargetGroupBindingSpec{TargetGroupARN: tc.group, IamRoleArnToAssume: "role"},
			})
			result, view, f := runBindings(t, c, steps.CreateBinding{Binding: webBinding()}, newGroup("a"))
			if len(f.calls) != 1 || view.forgot != 0 {
				t.Errorf("calls %v after it, forgot %d times", f.calls, view.forgot)
			}
			if tc.fault != "" {
				if len(result.Failures) != 1 || !strings.Contains(result.Failures[0].Err.Error(), tc.fault) {
					t.Errorf("failures %v, want %s", result.Failures, tc.fault)
				}
				return
			}
			if diff := cmp.Diff(map[string]string{"ingress.k8s.aws/stack": "shop", "team": "web"}, get(t, c).Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if got := get(t, c); got.Labels["team"] != "web" || got.Annotations["a"] != "b" || got.Spec.IamRoleArnToAssume != "role" || got.Spec.VpcID != "vpc-1" {
				t.Errorf("binding %+v, result %+v", got, result)
			}
		})
	}
}

func TestDeleteBindingIsDoneWhenItIsGone(t *testing.T) {
	held := &v1beta1.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "k8s-web", Finalizers: []string{v1beta1.Finalizer}}}
	c := clientWith(t, held)
	remove := []steps.Change{steps.DeleteBinding{Namespace: "shop", Name: "k8s-web"}, steps.DeleteTargetGroup{Group: stack.Ref{ID: "tg-a"}},
		steps.DeleteTargetGroup{Group: stack.Ref{ID: "tg-b"}}}
	result, view, f := runBindings(t, c, remove...)
	if len(result.Later) != 1 || len(result.LeftOut) != 2 || len(f.calls) != 0 || len(view.notes) != 0 {
		t.Errorf("result %+v, calls %v: want target groups to wait for their bindings", result, f.calls)
	}
	got := get(t, c)
	got.Finalizers = nil
	if err := c.Update(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	if result, _, f = runBindings(t, c, remove...); len(result.Done) != 3 || len(f.calls) != 2 {
		t.Errorf("result %+v, calls %v", result, f.calls)
	}
}

// By its target group a later pass finds it, whoever has left the group meanwhile.
func TestATargetGroupStaysWhileItsBindingCannotBeDeleted(t *testing.T) {
	c := interceptor.NewClient(clientWith(t), interceptor.Funcs{
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			return errors.New("no")
		},
	})
	result, _, f := runBindings(t, c, steps.DeleteBinding{Namespace: "shop", Name: "k8s-web"}, steps.DeleteTargetGroup{Group: stack.Ref{ID: "tg"}})
	if len(result.Failures) != 1 || len(result.LeftOut) != 1 || len(f.calls) > 0 {
		t.Errorf("result %+v, calls %v: want the target group to be left out", result, f.calls)
	}
}

func TestAnAPIServerThatRefusesABindingStopsOnlyRemovals(t *testing.T) {
	c := interceptor.NewClient(clientWith(t), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return errors.New("no")
		},
	})
	result, view, f := runBindings(t, c, steps.CreateBinding{Binding: webBinding()}, newGroup("a"), steps.DeleteTargetGroup{Group: stack.Ref{ID: "tg"}})
	if diff := cmp.Diff([]string{"CreateTargetGroup a"}, f.calls); diff != "" || len(result.Failures) != 1 || view.forgot != 0 {
		t.Errorf("result %+v, calls (-want +got):\n%s", result, diff)
	}
}
