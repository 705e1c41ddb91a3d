// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Indexes of the cache of bindings. Package webhook has its own, and those of pods and slices are in package endpoints.
const (
	indexBindingService   = "targets.binding.service"
	indexBindingGroup     = "targets.binding.group"
	indexBindingExclusive = "targets.binding.exclusive" // the group of a binding that does not share it
	indexBindingType      = "targets.binding.type"
)

// SetupWithManager adds the registrar to the manager. It runs on the leader only, and not before every cache it reads
// has synced.
func (r *Registrar) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	r.groups, r.subnets = map[types.NamespacedName]*group{}, newSubnets()
	r.orphans, r.strays = newOrphans(), newLine(maxStrays)
	r.openings, r.remarks, r.statuses = newLine(maxOpenings), newLine(maxRemarks), newLine(maxStatuses)
	r.resolver = endpoints.NewResolver(mgr.GetClient(), endpoints.NewCache(), r.LastResort)
	if err := addIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	if err := warm(ctx, mgr.GetCache(), &corev1.Pod{}, &discoveryv1.EndpointSlice{}); err != nil {
		return err
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("targets").
		For(&v1beta1.TargetGroupBinding{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Watches(&v1beta1.TargetGroupBinding{}, handler.EnqueueRequestsFromMapFunc(r.bindingsOfGroup),
			builder.WithPredicates(duplicatesChanged())).
		Watches(&corev1.Service{}, handler.EnqueueRequestsFromMapFunc(r.bindingsOfService)).
		Watches(&discoveryv1.EndpointSlice{}, r.sliceEvents()).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.bindingsOfNamespace), builder.WithPredicates(labelChanged())).
		Watches(&corev1.Node{}, r.nodeEvents(), builder.WithPredicates(nodeChanged())).
		Watches(&corev1.Pod{}, r.podEvents()).
		WatchesRawSource(source.Func(r.startLanes)).
		WatchesRawSource(source.Func(r.watchRoles)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: r.MaxConcurrentReconciles,
			NewQueue:                r.newQueue,
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
				minBackoff, r.MaxBackoff),
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("building the targets controller: %w", err)
	}
	return nil
}

// startLanes gives the lanes their life and their way back into the queue: the answer to a call has the binding looked
// at again.
func (r *Registrar) startLanes(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	leading.Set(1)
	r.lanes = ctx
	go r.followScope(ctx)
	urgent := undelayedQueue{queue.(*debouncedQueue)}
	r.wake = func(key types.NamespacedName) { urgent.Add(reconcile.Request{NamespacedName: key}) }
	return nil
}

// bindingIndexes say by which values the cache finds bindings.
var bindingIndexes = map[string]func(*v1beta1.TargetGroupBinding) string{
	indexBindingService: func(b *v1beta1.TargetGroupBinding) string { return b.Spec.ServiceRef.Name },
	indexBindingGroup:   func(b *v1beta1.TargetGroupBinding) string { return b.Spec.TargetGroupARN },
	indexBindingExclusive: func(b *v1beta1.TargetGroupBinding) string {
		if b.Spec.MultiClusterTargetGroup {
			return ""
		}
		return b.Spec.TargetGroupARN
	},
	indexBindingType: func(b *v1beta1.TargetGroupBinding) string { return string(ptr.Deref(b.Spec.TargetType, "")) },
}

func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for field, value := range bindingIndexes {
		values := func(o client.Object) []string { return []string{value(o.(*v1beta1.TargetGroupBinding))} }
		if err := indexer.IndexField(ctx, &v1beta1.TargetGroupBinding{}, field, values); err != nil {
			return fmt.Errorf("indexing %s: %w", field, err)
		}
	}
	return nil
}

// warm has the kinds cached from the start, also by a replica that does not lead yet: it begins at once when it does.
func warm(ctx context.Context, informers cache.Informers, kinds ...client.Object) error {
	for _, kind := range kinds {
		if _, err := informers.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
			return fmt.Errorf("caching %T: %w", kind, err)
		}
	}
	return nil
}

// podEvents has the bindings of a pod looked at, without delay when it leaves: its target goes at once.
func (r *Registrar) podEvents() handler.EventHandler {
	return r.resolver.UpdatePods(podHandler{handler.EnqueueRequestsFromMapFunc(r.bindingsOfPod), r.tellTooManyGates})
}

func (r *Registrar) nodeEvents() handler.EventHandler {
	return r.resolver.DeletedNodes.Update(handler.EnqueueRequestsFromMapFunc(r.bindingsOfNode), r.Clock)
}

func (r *Registrar) sliceEvents() handler.EventHandler {
	return r.resolver.UpdateSlices(handler.EnqueueRequestsFromMapFunc(r.bindingsOfSlice))
}

// podChanged reports whether the change can be one of a plan or a condition. It keeps the kubelet's other chatter away.
func podChanged(before, after *corev1.Pod) bool {
	return before.UID != after.UID || endpoints.IsTerminating(before) != endpoints.IsTerminating(after) ||
		endpoints.ContainersReady(before) != endpoints.ContainersReady(after) ||
		!maps.Equal(before.Labels, after.Labels) ||
		!slices.Equal(before.Status.PodIPs, after.Status.PodIPs) ||
		countOpenGates(before) != countOpenGates(after)
}

// nodeChanged lets through what decides whether a node, or a pod on it, is a target, and keeps heartbeats away.
func nodeChanged() predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*corev1.Node), e.ObjectNew.(*corev1.Node)
		return endpoints.NodeReadiness(before) != endpoints.NodeReadiness(after) ||
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

func (r *Registrar) bindingsOfService(ctx context.Context, o client.Object) []reconcile.Request {
	return r.bindingsOf(ctx, o.GetNamespace(), o.GetName())
}

func (r *Registrar) bindingsOfSlice(ctx context.Context, o client.Object) []reconcile.Request {
	return r.bindingsOf(ctx, o.GetNamespace(), o.GetLabels()[discoveryv1.LabelServiceName])
}

func (r *Registrar) bindingsOf(ctx context.Context, namespace, service string) []reconcile.Request {
	var list v1beta1.TargetGroupBindingList
	err := r.Client.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy,
		client.MatchingFields{indexBindingService: service})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing bindings of Service", "service", service)
		return nil
	}
	return requests(namespace, names(list.Items))
}

// bindingsOfNamespace are all in it: their pods without gates are told of where gates are asked for.
func (r *Registrar) bindingsOfNamespace(ctx context.Context, o client.Object) []reconcile.Request {
	return r.allBindings(ctx, o.GetName())
}

// allBindings are those of a namespace, or of all namespaces when that is empty.
func (r *Registrar) allBindings(ctx context.Context, namespace string) []reconcile.Request {
	var list v1beta1.TargetGroupBindingList
	if err := r.Client.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing bindings")
		return nil
	}
	out := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		out[i].NamespacedName = client.ObjectKeyFromObject(&list.Items[i])
	}
	return out
}

// bindingsOfPod are the bindings whose gates the pod carries, those in whose groups its addresses are, and those whose
// Services have it among their endpoints.
func (r *Registrar) bindingsOfPod(ctx context.Context, o client.Object) []reconcile.Request {
	pod := o.(*corev1.Pod)
	out := requests(pod.Namespace, append(readiness.Bindings(pod), r.resolver.Holders.Of(pod.Namespace, endpoints.PodAddresses(pod))...))
	services := map[string]bool{} // most have several slices
	for _, slice := range r.resolver.SliceByPod.At(pod.Namespace, pod.Name) {
		services[slice.Labels[discoveryv1.LabelServiceName]] = true
	}
	for service := range services {
		out = append(out, r.bindingsOf(ctx, pod.Namespace, service)...)
	}
	return out
}

func names(bindings []v1beta1.TargetGroupBinding) []string {
	out := make([]string, len(bindings))
	for i := range bindings {
		out[i] = bindings[i].Name
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
func (r *Registrar) bindingsOfNode(ctx context.Context, o client.Object) []reconcile.Request {
	node := o.(*corev1.Node)
	found := map[reconcile.Request]bool{}
	for _, pod := range r.resolver.PodByNode.At("", node.Name) {
		for _, request := range r.bindingsOfPod(ctx, pod) {
			found[request] = true
		}
	}
	var list v1beta1.TargetGroupBindingList
	err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy,
		client.MatchingFields{indexBindingType: string(v1beta1.TargetTypeInstance)})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing bindings of type instance")
	}
	id, _ := endpoints.InstanceID(node)
	for i := range list.Items {
		key := client.ObjectKeyFromObject(&list.Items[i])
		selector, err := r.resolver.Selectors.Of(&list.Items[i])
		if err == nil && selector.Matches(labels.Set(node.Labels)) || r.resolver.Holders.Holds(key, id) {
			found[reconcile.Request{NamespacedName: key}] = true
		}
	}
	return slices.Collect(maps.Keys(found))
}
