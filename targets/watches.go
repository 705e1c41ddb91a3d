// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/beside"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/guards"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/report"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// watcher finds the bindings that a change in the cluster concerns.
type watcher struct {
	client      client.Client
	clock       clock.PassiveClock
	resolver    *endpoints.Resolver
	guards      *guards.Keeper
	reporter    report.Reporter
	roleChanges <-chan struct{}
	// isRegistered reports whether bindings of the namespace are ours.
	isRegistered func(ctx context.Context, namespace string) (bool, error)
	// podChanged reports whether the change of a pod can be one for its bindings.
	podChanged func(before, after *corev1.Pod) bool
}

func (r *Registrar) watcher() *watcher {
	changed := podChanged
	if r.OpenIncumbentGates {
		changed = func(before, after *corev1.Pod) bool {
			return podChanged(before, after) || beside.RegistrationShown(before, after)
		}
	}
	return &watcher{r.Client, r.Clock, r.resolver, r.guards, r.reporter, r.RoleChanges, r.beside.IsRegistered, changed}
}

// podEvents requeues the bindings of a pod, without delay when it begins to leave: the pass finds out by when its target must go.
func (w *watcher) podEvents() handler.EventHandler {
	return w.resolver.UpdatePods(w.guards.FollowPods(podHandler{
		handler.EnqueueRequestsFromMapFunc(w.bindingsOfPod), w.podChanged, func(pod *corev1.Pod) {
			if registered, err := w.isRegistered(context.Background(), pod.Namespace); registered && err == nil {
				w.reporter.TooManyGates(pod)
			}
		},
	}))
}

func (w *watcher) nodeEvents() handler.EventHandler {
	return w.resolver.FollowNodes(w.guards.FollowNodes(handler.EnqueueRequestsFromMapFunc(w.bindingsOfNode)), w.clock)
}

func (w *watcher) sliceEvents() handler.EventHandler {
	return w.resolver.UpdateSlices(handler.EnqueueRequestsFromMapFunc(w.bindingsOfSlice))
}

// podChanged reports whether the change can be one of a plan or a condition; both pods are as StripPod keeps them. The kubelet's other
// chatter stays away.
func podChanged(before, after *corev1.Pod) bool {
	return before.UID != after.UID || endpoints.IsTerminating(before) != endpoints.IsTerminating(after) || leavesSooner(before, after) ||
		endpoints.ContainersReady(before) != endpoints.ContainersReady(after) ||
		!maps.Equal(before.Labels, after.Labels) ||
		!slices.Equal(before.Status.PodIPs, after.Status.PodIPs) ||
		before.Annotations[endpoints.PodENIAnnotation] != after.Annotations[endpoints.PodENIAnnotation] ||
		before.Annotations[v1beta1.KeepUntilReplacedAnnotation] != after.Annotations[v1beta1.KeepUntilReplacedAnnotation] ||
		countOpenGates(before) != countOpenGates(after)
}

// leavesSooner reports whether a pod that leaves already was deleted once more, with a shorter grace period, or has ended.
func leavesSooner(before, after *corev1.Pod) bool {
	return before.DeletionTimestamp != nil && after.DeletionTimestamp != nil &&
		(after.DeletionTimestamp.Before(before.DeletionTimestamp) || before.Status.Phase != after.Status.Phase)
}

// nodeChanged lets through what decides whether a node, or a pod on it, is a target, and keeps heartbeats away.
func nodeChanged() predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*corev1.Node), e.ObjectNew.(*corev1.Node)
		return endpoints.NodeReadiness(before) != endpoints.NodeReadiness(after) || endpoints.ShutsDown(before) != endpoints.ShutsDown(after) ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
			before.Spec.ProviderID != after.Spec.ProviderID ||
			!equality.Semantic.DeepEqual(before.Labels, after.Labels) ||
			!equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints)
	}}
}

// labelChanged lets through namespaces whose pods may get gates now, or no longer.
func labelChanged() predicate.Funcs {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, // its bindings come by themselves
		UpdateFunc: func(e event.UpdateEvent) bool {
			return !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels())
		},
	}
}

func countOpenGates(pod *corev1.Pod) int {
	n := 0
	for _, c := range pod.Status.Conditions { // of gates, and one more
		if c.Status == corev1.ConditionTrue {
			n++
		}
	}
	return n
}

func (w *watcher) bindingsOfService(ctx context.Context, o client.Object) []reconcile.Request {
	return w.bindingsOf(ctx, o.GetNamespace(), o.GetName())
}

func (w *watcher) bindingsOfSlice(ctx context.Context, o client.Object) []reconcile.Request {
	return w.bindingsOf(ctx, o.GetNamespace(), o.GetLabels()[discoveryv1.LabelServiceName])
}

func (w *watcher) bindingsOf(ctx context.Context, namespace, service string) []reconcile.Request {
	var list v1beta1.TargetGroupBindingList
	err := w.client.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy,
		client.MatchingFields{indexBindingService: service})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list the bindings of a Service", "service", service)
		return nil
	}
	return requestsOf(list.Items)
}

// bindingsOfNamespace are all in it: their pods without gates are told of where gates are asked for.
func (w *watcher) bindingsOfNamespace(ctx context.Context, o client.Object) []reconcile.Request {
	return w.allBindings(ctx, o.GetName())
}

// allBindings are those of a namespace, or of all namespaces when that is empty.
func (w *watcher) allBindings(ctx context.Context, namespace string) []reconcile.Request {
	var list v1beta1.TargetGroupBindingList
	if err := w.client.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list bindings")
		return nil
	}
	return requestsOf(list.Items)
}

// bindingsOfPod are the bindings whose gates the pod carries, those in whose groups its addresses are, and those whose
// Services have it among their endpoints.
func (w *watcher) bindingsOfPod(ctx context.Context, o client.Object) []reconcile.Request {
	pod := o.(*corev1.Pod)
	out := requests(pod.Namespace, append(readiness.Bindings(pod), w.resolver.Holders.Of(pod.Namespace, endpoints.PodAddresses(pod))...))
	services := map[string]bool{} // most have several slices
	for _, slice := range w.resolver.SliceByPod.At(pod.Namespace, pod.Name) {
		services[slice.Labels[discoveryv1.LabelServiceName]] = true
	}
	for service := range services {
		out = append(out, w.bindingsOf(ctx, pod.Namespace, service)...)
	}
	return out
}

func requestsOf(bindings []v1beta1.TargetGroupBinding) []reconcile.Request {
	out := make([]reconcile.Request, len(bindings))
	for i := range bindings {
		out[i].NamespacedName = client.ObjectKeyFromObject(&bindings[i])
	}
	return out
}

func requests(namespace string, names []string) []reconcile.Request {
	out := make([]reconcile.Request, len(names))
	for i, name := range names {
		out[i].NamespacedName = types.NamespacedName{Namespace: namespace, Name: name}
	}
	return out
}

// bindingsOfNode are those to which the node matters: of type ip those of the pods on it, of type instance those that select it, or
// have it in their groups all the same.
func (w *watcher) bindingsOfNode(ctx context.Context, o client.Object) []reconcile.Request {
	node := o.(*corev1.Node)
	found := map[reconcile.Request]bool{}
	for _, pod := range w.resolver.PodByNode.At("", node.Name) {
		for _, request := range w.bindingsOfPod(ctx, pod) {
			found[request] = true
		}
	}
	var list v1beta1.TargetGroupBindingList
	err := w.client.List(ctx, &list, client.UnsafeDisableDeepCopy,
		client.MatchingFields{indexBindingType: string(v1beta1.TargetTypeInstance)})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list the bindings of type instance")
	}
	id, _ := endpoints.InstanceID(node)
	for i := range list.Items {
		key := client.ObjectKeyFromObject(&list.Items[i])
		selector, err := w.resolver.Selectors.Of(&list.Items[i])
		if err == nil && selector.Matches(labels.Set(node.Labels)) || w.resolver.Holders.Holds(key, id) {
			found[reconcile.Request{NamespacedName: key}] = true
		}
	}
	return slices.Collect(maps.Keys(found))
}

// watchRoles requeues all bindings that name a role when other roles are allowed.
func (w *watcher) watchRoles(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-w.roleChanges:
				w.recheckRoles(ctx, queue)
			}
		}
	}()
	return nil
}

func (w *watcher) recheckRoles(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	var list v1beta1.TargetGroupBindingList
	if err := w.client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list bindings after a change of the role allow list, they will see it with their next pass")
		return
	}
	for i := range list.Items {
		if list.Items[i].Spec.IamRoleArnToAssume != "" {
			queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
}

// bindingsOfGroup are the other bindings of the binding's target group.
func (w *watcher) bindingsOfGroup(ctx context.Context, o client.Object) []reconcile.Request {
	duplicates, err := ownership.Duplicates(ctx, w.client, o.(*v1beta1.TargetGroupBinding))
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list the bindings of a target group")
	}
	return requestsOf(duplicates)
}

// finalizersChanged lets through what another controller of bindings does first.
func finalizersChanged() predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
	}}
}

// duplicatesChanged lets through what may change who has a target group: a binding comes, goes, lets go of it, is taken from the incumbent
// or given back to it, or no longer shares it.
func duplicatesChanged() predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*v1beta1.TargetGroupBinding), e.ObjectNew.(*v1beta1.TargetGroupBinding)
		return before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() || ownership.Released(before) != ownership.Released(after) ||
			ownership.Beside.Holds(before) != ownership.Beside.Holds(after) ||
			before.Spec.MultiClusterTargetGroup != after.Spec.MultiClusterTargetGroup
	}}
}
