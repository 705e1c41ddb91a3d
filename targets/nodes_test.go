// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const nodePort = 30080

func changed(node *corev1.Node, change func(*corev1.Node)) *corev1.Node {
	change(node)
	return node
}

// beingDeleted is the node while a finalizer, such as Karpenter's, keeps it.
func beingDeleted(node *corev1.Node) *corev1.Node {
	node.Finalizers, node.DeletionTimestamp = []string{"karpenter.sh/termination"}, ptr.To(metav1.Now())
	return node
}

// inInstanceBed is inBed with a binding of type instance.
func inInstanceBed(t *testing.T, test func(b *bed), more ...client.Object) {
	t.Helper()
	inBed(t, func(b *bed) {
		binding := b.binding()
		binding.Spec.TargetType = ptr.To(v1beta1.TargetTypeInstance)
		b.must(b.cluster.Update(t.Context(), binding))
		service := newService()
		service.Spec.Type, service.Spec.Ports[0].NodePort = corev1.ServiceTypeNodePort, nodePort
		b.must(b.cluster.Update(t.Context(), service))
		test(b)
	}, more...)
}

func TestResolveNodes(t *testing.T) {
	label := func(key, value string) func(*corev1.Node) { return func(n *corev1.Node) { n.Labels[key] = value } }
	taint := func(key string, effect corev1.TaintEffect) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: key, Effect: effect}} }
	}
	good := func() *corev1.Node { return newNode("node-1", "i-01", corev1.ConditionTrue) }
	tests := map[string]struct {
		nodes    []client.Object
		selector *metav1.LabelSelector
		known    targetgroup.Targets
		want     map[string]endpoints.State
		odd      int
	}{
		"ready":                   {nodes: []client.Object{good()}, want: map[string]endpoints.State{"i-01:30080": endpoints.Desired}},
		"selected":                {nodes: []client.Object{good()}, selector: selectPool("web"), want: map[string]endpoints.State{"i-01:30080": endpoints.Desired}},
		"not selected":            {nodes: []client.Object{good()}, selector: selectPool("db"), want: map[string]endpoints.State{"i-01:30080": endpoints.Unselected}},
		"master":                  {nodes: []client.Object{changed(good(), label("node-role.kubernetes.io/master", ""))}, want: map[string]endpoints.State{"i-01:30080": endpoints.Unselected}},
		"excluded":                {nodes: []client.Object{changed(good(), label("node.kubernetes.io/exclude-from-external-load-balancers", ""))}, want: map[string]endpoints.State{"i-01:30080": endpoints.Unselected}},
		"excluded, the old way":   {nodes: []client.Object{changed(good(), label("alpha.service-controller.kubernetes.io/exclude-balancer", ""))}, want: map[string]endpoints.State{"i-01:30080": endpoints.Unselected}},
		"Fargate":                 {nodes: []client.Object{changed(good(), label("eks.amazonaws.com/compute-type", "fargate"))}},
		"autoscaler is ending it": {nodes: []client.Object{changed(good(), taint("ToBeDeletedByClusterAutoscaler", corev1.TaintEffectPreferNoSchedule))}, want: map[string]endpoints.State{"i-01:30080": endpoints.Terminating}},
		"Karpenter replaces it":   {nodes: []client.Object{changed(good(), taint("karpenter.sh/disrupted", corev1.TaintEffectNoSchedule))}, want: map[string]endpoints.State{"i-01:30080": endpoints.Unselected}},
		"and deletes it":          {nodes: []client.Object{changed(beingDeleted(good()), taint("karpenter.sh/disrupted", corev1.TaintEffectNoSchedule))}, want: map[string]endpoints.State{"i-01:30080": endpoints.Terminating}},
		"odd provider ID, and not selected": {nodes: []client.Object{
			good(), changed(newNode("node-2", "mi-17", corev1.ConditionTrue), label("node.kubernetes.io/exclude-from-external-load-balancers", "")),
		}, want: map[string]endpoints.State{"i-01:30080": endpoints.Desired}},
		"other taint": {nodes: []client.Object{changed(good(), taint("karpenter.sh/disrupted", corev1.TaintEffectNoExecute))}, want: map[string]endpoints.State{"i-01:30080": endpoints.Desired}},
		"odd provider ID among others": {
			nodes: []client.Object{good(), newNode("node-2", "mi-17", corev1.ConditionTrue), newNode("node-3", "", corev1.ConditionTrue)},
			want:  map[string]endpoints.State{"i-01:30080": endpoints.Desired}, odd: 2,
		},
		"no provider ID yet": {
			nodes: []client.Object{good(), changed(newNode("node-2", "", corev1.ConditionFalse), func(n *corev1.Node) {
				n.Spec.ProviderID, n.Spec.Taints = "", []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true"}}
			})},
			want: map[string]endpoints.State{"i-01:30080": endpoints.Desired},
		},
		"not ready": {
			nodes: []client.Object{good(), newNode("node-2", "i-02", corev1.ConditionFalse), newNode("node-3", "i-03", corev1.ConditionUnknown)},
			want:  map[string]endpoints.State{"i-01:30080": endpoints.Desired, "i-02:30080": endpoints.NotReady, "i-03:30080": endpoints.NotReady},
		},
		"none ready, one unknown": {
			nodes: []client.Object{newNode("node-2", "i-02", corev1.ConditionFalse), newNode("node-3", "i-03", corev1.ConditionUnknown)},
			want:  map[string]endpoints.State{"i-02:30080": endpoints.NotReady, "i-03:30080": endpoints.Desired},
		},
		"at a port of before": {
			nodes: []client.Object{good()}, known: targetgroup.Targets{{ID: "i-01", Port: 1}: {Presence: targetgroup.Registered}},
			want: map[string]endpoints.State{"i-01:30080": endpoints.Desired, "i-01:1": endpoints.Unselected},
		},
		"at a port of before, being ended": {
			nodes: []client.Object{changed(good(), taint("ToBeDeletedByClusterAutoscaler", corev1.TaintEffectNoSchedule))},
			known: targetgroup.Targets{{ID: "i-01", Port: 1}: {Presence: targetgroup.Registered}},
			want:  map[string]endpoints.State{"i-01:30080": endpoints.Terminating, "i-01:1": endpoints.Terminating},
		},
		"at a port of before, being replaced": {
			nodes: []client.Object{changed(good(), taint("karpenter.sh/disrupted", corev1.TaintEffectNoSchedule))},
			known: targetgroup.Targets{{ID: "i-01", Port: 1}: {Presence: targetgroup.Registered}},
			want:  map[string]endpoints.State{"i-01:30080": endpoints.Unselected, "i-01:1": endpoints.Unselected},
		},
		"two Nodes, the first is what the instance was before": {
			nodes: []client.Object{newNode("node-0", "i-01", corev1.ConditionUnknown), good()},
			want:  map[string]endpoints.State{"i-01:30080": endpoints.Desired},
		},
		"two Nodes, the last is what the instance was before": {
			nodes: []client.Object{good(), changed(newNode("node-9", "i-01", corev1.ConditionUnknown), taint("ToBeDeletedByClusterAutoscaler", corev1.TaintEffectNoSchedule))},
			want:  map[string]endpoints.State{"i-01:30080": endpoints.Desired},
		},
		"gone": {
			nodes: []client.Object{good()}, known: targetgroup.Targets{{ID: "i-02", Port: nodePort}: {Presence: targetgroup.Registered}},
			want: map[string]endpoints.State{"i-01:30080": endpoints.Desired},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			inInstanceBed(t, func(b *bed) {
				binding := b.binding()
				binding.Spec.NodeSelector = tc.selector
				res, err := b.resolver.ForPass().Resolve(t.Context(), binding, tc.known)
				if err != nil {
					t.Fatal(err)
				}
				got := map[string]endpoints.State{}
				for target, ep := range res.Endpoints {
					got[target.String()] = ep.State
				}
				if tc.want == nil {
					tc.want = map[string]endpoints.State{}
				}
				if diff := cmp.Diff(tc.want, got); diff != "" || len(res.Odd) != tc.odd || res.Missing != "" {
					t.Errorf("missing %q, odd %v; endpoints (-want +got):\n%s", res.Missing, res.Odd, diff)
				}
			}, tc.nodes...)
		})
	}
}

func selectPool(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"pool": name}}
}

func TestRegistrarFollowsNodes(t *testing.T) {
	first, second := newNode("node-1", "i-01", corev1.ConditionTrue), newNode("node-2", "i-02", corev1.ConditionTrue)
	odd := newNode("node-3", "x", corev1.ConditionTrue)
	pod := newPod("web-0", "10.0.0.1")
	inInstanceBed(t, func(b *bed) {
		b.settle()
		if got, want := b.condition("web-0"), "True TargetGroupBindingNotManaged"; got != want {
			t.Errorf("condition of a pod that is no target %q, want %q", got, want)
		}
		i1, i2 := elbv2.Target{ID: "i-01", Port: nodePort}, elbv2.Target{ID: "i-02", Port: nodePort}
		b.aws.SetHealth(testARN, i1, healthy)
		b.aws.SetHealth(testARN, i2, healthy)
		b.after(plan.PollUnsettled)
		if told := b.told("NodeSkipped"); told != 1 {
			t.Errorf("told %d times of the odd node, want once", told)
		}
		second.Status.Conditions[0].Status = corev1.ConditionFalse
		b.must(b.cluster.Status().Update(t.Context(), second))
		b.settle()
		if n := len(b.aws.Calls("DeregisterTargets")); n > 0 {
			t.Errorf("a node that has just become not ready was deregistered at once")
		}
		b.after(plan.UnreadyPause)
		b.must(b.cluster.Delete(t.Context(), first))
		b.settle()
		if len(b.targets()) != 2 || b.targets()[i1.String()] != elbv2.StateDraining || b.targets()[i2.String()] != elbv2.StateDraining {
			t.Errorf("targets %v, want both to drain", b.targets())
		}
	}, first, second, odd, pod)
}

func TestRegistrarSaysWhyServiceHasNoNodePort(t *testing.T) {
	inInstanceBed(t, func(b *bed) {
		service := newService()
		service.Spec.Type = corev1.ServiceTypeClusterIP
		b.must(b.cluster.Update(t.Context(), service))
		b.settle()
		if c := b.ready(); c.Reason != v1beta1.ReasonBackendNotFound || !strings.Contains(c.Message, "of type ClusterIP has no node port") {
			t.Errorf("condition Ready says %s: %s", c.Reason, c.Message)
		}
	}, newNode("node-1", "i-01", corev1.ConditionTrue))
}

// Pods on a node that is not ready are not added, and on one of unknown state only when there are no others.
func TestResolveLooksAtNodesOfUnreadyPods(t *testing.T) {
	tests := map[string]struct {
		nodes map[string]corev1.ConditionStatus // of web-0 and web-1
		want  map[elbv2.Target]endpoints.State
	}{
		"ready":             {map[string]corev1.ConditionStatus{"web-0": "True", "web-1": "True"}, map[elbv2.Target]endpoints.State{one: endpoints.Desired, two: endpoints.Desired}},
		"not ready":         {map[string]corev1.ConditionStatus{"web-0": "True", "web-1": "False"}, map[elbv2.Target]endpoints.State{one: endpoints.Desired, two: endpoints.NotReady}},
		"one unknown":       {map[string]corev1.ConditionStatus{"web-0": "True", "web-1": "Unknown"}, map[elbv2.Target]endpoints.State{one: endpoints.Desired, two: endpoints.NotReady}},
		"none but unknown":  {map[string]corev1.ConditionStatus{"web-0": "False", "web-1": "Unknown"}, map[elbv2.Target]endpoints.State{one: endpoints.NotReady, two: endpoints.Desired}},
		"missing":           {map[string]corev1.ConditionStatus{"web-0": "True"}, map[elbv2.Target]endpoints.State{one: endpoints.Desired, two: endpoints.NotReady}},
		"none is not ready": {map[string]corev1.ConditionStatus{"web-0": "False", "web-1": "False"}, map[elbv2.Target]endpoints.State{one: endpoints.NotReady, two: endpoints.NotReady}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a, c := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
			a.Spec.NodeName, c.Spec.NodeName = "web-0", "web-1"
			objects := []client.Object{a, c, newSlice("web-1", a, c)}
			for name, ready := range tc.nodes {
				objects = append(objects, newNode(name, "i-01", ready))
			}
			inBed(t, func(b *bed) {
				res, err := b.resolver.ForPass().Resolve(t.Context(), b.binding(), targetgroup.Targets{})
				b.must(err)
				got := map[elbv2.Target]endpoints.State{}
				for target, ep := range res.Endpoints {
					got[target] = ep.State
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("endpoints (-want +got):\n%s", diff)
				}
			}, objects...)
		})
	}
}

// Nobody is left to change what the pods of a lost instance say of themselves: they are as ready as before.
func TestRegistrarDeregistersPodsOfDeletedNode(t *testing.T) {
	tests := map[string]struct {
		prepare func(*bed, *discoveryv1.EndpointSlice) // before the node is deleted
		policy  int                                    // MinReadyPercent
		unseen  bool                                   // the deletion, as it was before our time
		want    elbv2.State                            // of the pod's target a moment later
		later   elbv2.State                            // and when a pause is over
	}{
		"ready in the slice": {want: elbv2.StateDraining},
		"not ready in the slice": {
			prepare: func(b *bed, slice *discoveryv1.EndpointSlice) {
				slice.Endpoints[0].Conditions.Ready = ptr.To(false)
				b.must(b.cluster.Update(t.Context(), slice))
			},
			want: elbv2.StateDraining,
		},
		"out of the slices": {
			prepare: func(b *bed, slice *discoveryv1.EndpointSlice) {
				slice.Endpoints = slice.Endpoints[1:]
				b.must(b.cluster.Update(t.Context(), slice))
			},
			want: elbv2.StateDraining,
		},
		"too few others": {policy: 51, want: elbv2.StateHealthy, later: elbv2.StateHealthy},
		"rule 10: missing, not seen to be deleted": {unseen: true, want: elbv2.StateHealthy, later: elbv2.StateDraining},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a, c := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
			a.Spec.NodeName, c.Spec.NodeName = "node-1", "node-2"
			lost, stays := newNode("node-1", "i-01", corev1.ConditionTrue), newNode("node-2", "i-02", corev1.ConditionTrue)
			slice := newSlice("web-1", a, c)
			for i := range slice.Endpoints {
				slice.Endpoints[i].Conditions.Ready = ptr.To(true)
			}
			inBed(t, func(b *bed) {
				if tc.policy > 0 {
					b.Policy.MinReadyPercent = tc.policy
				}
				b.settle()
				b.aws.SetHealth(testARN, one, healthy)
				b.aws.SetHealth(testARN, two, healthy)
				b.after(time.Second)
				if tc.prepare != nil {
					tc.prepare(b, slice)
					b.settle()
				}
				b.must(b.cluster.Delete(t.Context(), lost))
				if !tc.unseen {
					b.nodeEvent(lost)
				}
				b.settle()
				if got := b.targets(); got[one.String()] != tc.want || got[two.String()] != elbv2.StateHealthy {
					t.Errorf("targets %v, want the one on the deleted node %s", got, tc.want)
				}
				b.after(plan.UnreadyPause)
				b.after(plan.PollUnsettled)
				if got := b.targets()[one.String()]; tc.later != "" && got != tc.later {
					t.Errorf("%s later the target is %s, want %s", plan.UnreadyPause, got, tc.later)
				}
				if n := len(b.aws.Calls("RegisterTargets")); n != 1 {
					t.Errorf("%d registrations, want the first one alone: %v", n, b.aws.Calls("RegisterTargets"))
				}
			}, a, c, slice, lost, stays)
		})
	}
}

// nodeEvent has the registrar see that a node was deleted.
func (b *bed) nodeEvent(node *corev1.Node) {
	queue := b.watcher().newQueue("nodes", nil).(*debouncedQueue)
	defer queue.ShutDown()
	b.watcher().nodeEvents().Delete(b.t.Context(), event.DeleteEvent{Object: node}, queue)
}

func TestNodeThatComesBackUnderItsNameCounts(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	pod.Spec.NodeName = "node-1"
	node := newNode("node-1", "i-01", corev1.ConditionTrue)
	inBed(t, func(b *bed) {
		b.deletedNodes().Add("node-1", b.Clock.Now())
		b.settle()
		if got := b.targets()[one.String()]; got != elbv2.StateInitial {
			t.Errorf("the target is %q, want it registered", got)
		}
	}, pod, node, newSlice("web-1", pod))
}

func (b *bed) deletedNodes() *endpoints.DeletedNodes { return b.resolver.DeletedNodes }

// The kubelet's graceful shutdown: the node says that it is not ready, and its pods end without being deleted.
func TestRegistrarDeregistersPodsOfNodeThatIsNotReady(t *testing.T) {
	tests := map[string]struct {
		node corev1.ConditionStatus
		want elbv2.State
	}{
		"it says so":         {node: corev1.ConditionFalse, want: elbv2.StateDraining},
		"it does not answer": {node: corev1.ConditionUnknown, want: elbv2.StateHealthy},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a, c := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
			a.Spec.NodeName, c.Spec.NodeName = "node-1", "node-2"
			node := newNode("node-1", "i-01", corev1.ConditionTrue)
			inBed(t, func(b *bed) {
				b.settle()
				b.aws.SetHealth(testARN, one, healthy)
				b.aws.SetHealth(testARN, two, healthy)
				b.after(time.Second)
				node.Status.Conditions[0].Status = tc.node
				b.must(b.cluster.Status().Update(t.Context(), node))
				b.settle()
				if got := b.targets(); got[one.String()] != tc.want || got[two.String()] != elbv2.StateHealthy {
					t.Errorf("targets %v, want the one on the node %s", got, tc.want)
				}
				b.after(plan.UnreadyPause)
				b.after(plan.PollUnsettled)
				if got := b.targets()[one.String()]; got != elbv2.StateDraining {
					t.Errorf("%s later the target is %s, want it to drain", plan.UnreadyPause, got)
				}
				node.Status.Conditions[0].Status = corev1.ConditionTrue
				b.must(b.cluster.Status().Update(t.Context(), node))
				b.settle()
				if got := b.targets()[one.String()]; got != elbv2.StateInitial {
					t.Errorf("when the node is ready again the target is %s, want it registered again", got)
				}
			}, a, c, newSlice("web-1", a, c), node, newNode("node-2", "i-02", corev1.ConditionTrue))
		})
	}
}

func TestNodeChangedLetsThroughWhatMatters(t *testing.T) {
	disrupted := func(n *corev1.Node) {
		n.Spec.Taints, n.Status.Conditions[0].Status = []corev1.Taint{{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule}}, corev1.ConditionFalse
	}
	tests := map[string]struct {
		prepare func(*corev1.Node)
		change  func(*corev1.Node)
		want    bool
	}{
		"heartbeat":   {change: func(n *corev1.Node) { n.ResourceVersion = "2" }},
		"not ready":   {change: func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse }, want: true},
		"tainted":     {change: func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}} }, want: true},
		"labelled":    {change: func(n *corev1.Node) { n.Labels = map[string]string{"pool": "db"} }, want: true},
		"provider ID": {change: func(n *corev1.Node) { n.Spec.ProviderID = "aws:///eu-west-1a/i-02" }, want: true},
		"shuts down while it is to be replaced": {
			prepare: disrupted, change: func(n *corev1.Node) { n.Status.Conditions[0].Message = "node is shutting down" }, want: true,
		},
		"deleted after it was to be replaced": {
			prepare: disrupted, change: func(n *corev1.Node) { n.DeletionTimestamp = ptr.To(metav1.Now()) }, want: true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before, after := newNode("node-1", "i-01", corev1.ConditionTrue), newNode("node-1", "i-01", corev1.ConditionTrue)
			if tc.prepare != nil {
				tc.prepare(before)
				tc.prepare(after)
			}
			tc.change(after)
			if got := nodeChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.want {
				t.Errorf("let through %v, want %v", got, tc.want)
			}
		})
	}
}

// A pod whose kubelet stops it without deleting it leaves at once, however few others there are; one that waits at its gate says why.
func TestPodsLeaveANodeThatShutsDown(t *testing.T) {
	served, waits := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
	served.Spec.NodeName, waits.Spec.NodeName = "node-1", "node-2"
	waits.Status.Conditions = nil
	node, other := newNode("node-1", "i-01", corev1.ConditionTrue), newNode("node-2", "i-02", corev1.ConditionTrue)
	inBed(t, func(b *bed) {
		b.settle()
		b.aws.SetHealth(testARN, one, healthy)
		b.settle()
		for _, n := range []*corev1.Node{node, other} {
			b.must(b.cluster.Get(t.Context(), client.ObjectKeyFromObject(n), n))
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Message: "node is shutting down"}}
			b.must(b.cluster.Status().Update(t.Context(), n))
		}
		b.settle()
		if got := b.targets()[one.String()]; got != elbv2.StateDraining {
			t.Errorf("the pod's target is %q, want it to drain", got)
		}
		if got, want := b.condition("web-1"), "NodeLeaving"; !strings.Contains(got, want) {
			t.Errorf("the other pod's gate says %q, want %s", got, want)
		}
	}, served, waits, node, other, newSlice("web-1", served, waits))
}
