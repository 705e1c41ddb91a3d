// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// inBank has an object of the shop be the bank's.
func inBank[T client.Object](o T) T {
	o.SetNamespace("bank")
	if binding, ok := client.Object(o).(*v1beta1.TargetGroupBinding); ok {
		binding.UID, binding.Spec.MultiClusterTargetGroup = "bank's binding", true
	}
	if slice, ok := client.Object(o).(*discoveryv1.EndpointSlice); ok {
		slice.Endpoints[0].TargetRef.Namespace = "bank"
	}
	return o
}

func bankPod() *corev1.Pod {
	pod := inBank(newPod("till-0", two.ID))
	pod.UID = "till-0"
	return pod
}

// The shop's record lists a target that the bank's binding of the same group has. The bank's registrar does not run.
func TestSharedGroupLeavesTargetsToOtherBindings(t *testing.T) {
	ended := newPod("web-9", two.ID)
	ended.Status.Phase = corev1.PodSucceeded
	deleted := inBank(newBinding())
	deleted.Finalizers, deleted.DeletionTimestamp = []string{v1beta1.Finalizer}, ptr.To(metav1.NewTime(time.Unix(1, 0)))
	elsewhere := inBank(newSlice("web-1", bankPod()))
	elsewhere.Ports[0].Port = ptr.To[int32](9090)
	unselected := bankPod()
	unselected.Labels = nil
	dead := bankPod()
	dead.Status.Phase = corev1.PodFailed
	bank := func(more ...client.Object) []client.Object {
		return append([]client.Object{inBank(newService()), inBank(newBinding())}, more...)
	}
	tests := map[string]struct {
		others []client.Object
		want   elbv2.State
	}{
		"the bank's pod":                           {bank(bankPod(), inBank(newSlice("web-1", bankPod()))), healthy.State},
		"no slice lists it for the moment":         {bank(bankPod()), healthy.State},
		"a pod of ours that has ended had it, too": {bank(bankPod(), inBank(newSlice("web-1", bankPod())), ended), healthy.State},
		"the bank's pod has ended":                 {bank(dead, inBank(newSlice("web-1", dead))), elbv2.StateDraining},
		"at another port":                          {bank(bankPod(), elsewhere), elbv2.StateDraining},
		"the bank's binding has another Service":   {bank(unselected), elbv2.StateDraining},
		"the bank has no binding":                  {[]client.Object{inBank(newService()), bankPod(), inBank(newSlice("web-1", bankPod()))}, elbv2.StateDraining},
		"the bank's binding is being deleted": {
			[]client.Object{inBank(newService()), deleted, bankPod(), inBank(newSlice("web-1", bankPod()))}, elbv2.StateDraining,
		},
		"nobody's pod": {nil, elbv2.StateDraining},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			inSharedBed(t, func(b *bed) {
				b.workedForBefore()
				b.aws.SetHealth(testARN, two, healthy)
				b.settle()
				b.after(testDrift)
				b.after(testDrift)
				if got := b.targets()[two.String()]; got != tc.want {
					t.Errorf("the target is %q, want %q", got, tc.want)
				}
				b.must(b.cluster.Delete(t.Context(), b.binding()))
				b.settle()
				if got := b.targets()[two.String()]; got != tc.want {
					t.Errorf("after the deletion of the binding the target is %q, want %q", got, tc.want)
				}
			}, append(tc.others, writtenRecord("10.0.0.2:8080"))...)
		})
	}
}

// Two bindings that share a group may have a pod in common.
func TestSharedGroupPodInCommonStaysWithTheOther(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	second := newBinding()
	second.Name, second.UID, second.Spec.MultiClusterTargetGroup = "web-too", "second", true
	inSharedBed(t, func(b *bed) {
		b.settle()
		b.must(b.cluster.Delete(t.Context(), b.binding()))
		b.settle()
		if got := b.targets()[one.String()]; got == elbv2.StateDraining {
			t.Error("the target drains although the other binding asks for it")
		}
	}, pod, newSlice("web-1", pod), second)
}

func TestSharedGroupPodInCommonLeavesAtOnce(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	second := newBinding()
	second.Name, second.UID, second.Spec.MultiClusterTargetGroup = "web-too", "second", true
	inSharedBed(t, func(b *bed) {
		b.settle()
		b.must(b.cluster.Delete(t.Context(), pod))
		b.settle()
		if got := b.targets()[one.String()]; got != elbv2.StateDraining {
			t.Errorf("the target is %q, want it to drain", got)
		}
	}, withFinalizer(pod), newSlice("web-1", pod), second)
}

// Each binding takes care of a pod that leaves with its node: neither leaves it to the other.
func TestSharedGroupPodInCommonLeavesWithItsNode(t *testing.T) {
	tests := map[string]struct {
		change func(*corev1.Node)
		want   elbv2.State
	}{
		"it shuts down": {want: elbv2.StateDraining, change: func(node *corev1.Node) {
			node.Status.Conditions[0].Status, node.Status.Conditions[0].Message = corev1.ConditionFalse, "node is shutting down"
		}},
		"it will be interrupted": {want: elbv2.StateDraining, change: func(node *corev1.Node) {
			node.Spec.Taints = []corev1.Taint{{Key: "aws-node-termination-handler/spot-itn", Effect: corev1.TaintEffectNoSchedule}}
		}},
		"its pods will be deleted": {want: elbv2.StateInitial, change: func(node *corev1.Node) {
			node.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule}}
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod, node := newPod("web-0", "10.0.0.1"), &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: "node"},
				Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
			}
			pod.Spec.NodeName = node.Name
			second := newBinding()
			second.Name, second.UID, second.Spec.MultiClusterTargetGroup = "web-too", "second", true
			inSharedBed(t, func(b *bed) {
				b.settle()
				tc.change(node)
				changed := node.Status
				b.must(b.cluster.Update(t.Context(), node))
				node.Status = changed
				b.must(b.cluster.Status().Update(t.Context(), node))
				b.settle()
				if got := b.targets()[one.String()]; got != tc.want {
					t.Errorf("the target is %q, want %q", got, tc.want)
				}
			}, pod, node, newSlice("web-1", pod), second)
		})
	}
}

func TestAskedForByOthersKnowsNodes(t *testing.T) {
	target := elbv2.Target{ID: "i-0123456789abcdef0", Port: 30080}
	tests := map[string]struct {
		change func(*v1beta1.TargetGroupBinding, *corev1.Node)
		port   int32
		want   bool
	}{
		"a node": {port: 30080, want: true},
		"a node that is not ready": {port: 30080, want: true, change: func(_ *v1beta1.TargetGroupBinding, node *corev1.Node) {
			node.Status.Conditions = nil
		}},
		"at another port": {port: 30081},
		"a node that another binding does not select": {port: 30080, change: func(b *v1beta1.TargetGroupBinding, _ *corev1.Node) {
			b.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "web"}}
		}},
		"a node that is about to end": {port: 30080, change: func(_ *v1beta1.TargetGroupBinding, node *corev1.Node) {
			node.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}}
		}},
		"no such node": {port: 30080, change: func(_ *v1beta1.TargetGroupBinding, node *corev1.Node) { node.Spec.ProviderID = "aws:///a/i-1" }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: "node"}, Spec: corev1.NodeSpec{ProviderID: "aws:///a/" + target.ID},
				Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
			}
			other, service := inBank(newBinding()), inBank(newService())
			other.Spec.TargetType, service.Spec.Ports[0].NodePort = ptr.To(v1beta1.TargetTypeInstance), tc.port
			if tc.change != nil {
				tc.change(other, node)
			}
			inBed(t, func(b *bed) {
				binding := b.binding()
				binding.Spec.TargetType = ptr.To(v1beta1.TargetTypeInstance)
				theirs, err := b.others.askedFor(t.Context(), binding, []elbv2.Target{target})
				if b.must(err); theirs[target] != tc.want {
					t.Errorf("another binding asks for it: %v, want %v", theirs[target], tc.want)
				}
			}, other, service, node)
		})
	}
}
