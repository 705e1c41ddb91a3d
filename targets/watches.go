// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
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
	guards      *guards.Answerer
	reporter    report.Reporter
	roleChanges <-chan struct{}
	// isRegistered reports whether bindings of the namespace are ours.
	isRegistered func(ctx context.Context, namespace string) (bool, error)
	// podChanged reports whether the change of a pod can be one for its bindings.
	podChanged func(before, after *corev1.Pod) bool
}

func (r *Registrar) watcher() *watcher {
	changed := func(before, after *corev1.Pod) bool {
		overwritten := r.gatesChanged(before, after) // takes it in
		return overwritten || podChanged(before, after) || r.OpenIncumbentGates && beside.RegistrationShown(before, after)
	}
	return &watcher{r.Client, r.Clock, r.resolver, r.guards, r.reporter, r.RoleChanges, r.beside.IsRegistered, changed}
}

// podEvents requeues the bindings of a pod, without delay when it begins to leave: the pass finds out by when its target must go.
func (w *watcher) podEvents() handler.EventHandler {
	return w.resolver.UpdatePods(w.guards.FollowPods(podHandler{
		handler.EnqueueRequestsFromMapFunc(w.bindingsOfPod), handler.EnqueueRequestsFromMapFunc(bindingsOfGates), w.podChanged,
		func(pod *corev1.Pod) {
			if registered, err := w.isRegistered(context.Background(), pod.Namespace); registered && err == nil {
				w.reporter.TooManyGates(pod)
			}
		},
	}))
}

func (w *watcher) nodeEvents() handler.EventHandler {
	return w.resolver.FollowNodes(w.guards.FollowNodes(requeue(w.bindingsOfNode)), w.clock)
}

func (w *watcher) sliceEvents() handler.EventHandler {
	return w.resolver.UpdateSlices(requeue(w.bindingsOfSlice))
}

// requeue returns a handler that requeues the bindings that an object concerns. Objects of the first list requeue none: no pass begins
// before all lists have come, and bindings come by their own. With many bindings of one Service it would take minutes, and the process
// would end: controller-runtime waits so long for lists, and no longer.
func requeue(bindings handler.MapFunc) handler.EventHandler {
	return changeHandler{handler.EnqueueRequestsFromMapFunc(bindings)}
}

type changeHandler struct{ handler.EventHandler }

// Create implements handler.EventHandler.
func (h changeHandler) Create(ctx context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if !e.IsInInitialList {
		h.EventHandler.Create(ctx, e, queue)
	}
}

func (w *watcher) bindingsOfService(ctx context.Context, o client.Object) []reconcile.Request {
	return w.bindingsOf(ctx, o.GetNamespace(), o.GetName())
}

func (w *watcher) bindingsOfSlice(ctx context.Context, o client.Object) []reconcile.Request {
	return w.bindingsOf(ctx, o.GetNamespace(), o.GetLabels()[discoveryv1.LabelServiceName])
}

func (w *watcher) bindingsOf(ctx context.Context, namespace, service string) []reconcile.Request {
	return requestsOf(w.list(ctx, client.InNamespace(namespace), client.MatchingFields{indexBindingService: service}))
}

// bindingsOfNamespace are all in it: their pods without gates are told of where gates are asked for.
func (w *watcher) bindingsOfNamespace(ctx context.Context, o client.Object) []reconcile.Request {
	return requestsOf(w.list(ctx, client.InNamespace(o.GetName())))
}

// list lists bindings, for reading only.
func (w *watcher) list(ctx context.Context, which ...client.ListOption) []v1beta1.TargetGroupBinding {
	var list v1beta1.TargetGroupBindingList
	if err := w.client.List(ctx, &list, append(which, client.UnsafeDisableDeepCopy)...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list bindings")
		return nil
	}
	return list.Items
}

// bindingsOfGates are the bindings whose gates the pod carries. They may not exist.
func bindingsOfGates(_ context.Context, o client.Object) []reconcile.Request {
	return requests(o.GetNamespace(), readiness.Bindings(o.(*corev1.Pod)))
}

func (w *watcher) bindingsOfPod(ctx context.Context, o client.Object) []reconcile.Request {
	return w.bindingsOfPods(ctx, o.GetNamespace(), []*corev1.Pod{o.(*corev1.Pod)})
}

// bindingsOfPods are the bindings whose gates pods of the namespace carry, those in whose groups their addresses are, and those whose
// Services have them among their endpoints.
func (w *watcher) bindingsOfPods(ctx context.Context, namespace string, pods []*corev1.Pod) []reconcile.Request {
	var out []reconcile.Request
	services := map[string]bool{} // most have several slices
	for _, pod := range pods {
		held := w.resolver.Holders.Of(namespace, endpoints.PodAddresses(pod))
		out = append(out, requests(namespace, append(readiness.Bindings(pod), held...))...)
		for _, slice := range w.resolver.SliceByPod.At(namespace, pod.Name) {
			services[slice.Labels[discoveryv1.LabelServiceName]] = true
		}
	}
	return append(out, w.bindingsOfServices(ctx, namespace, services)...)
}

// fewServices are looked up one by one. Of more, as anybody may name by the thousand in slices of their own, it is quicker to look at all
// bindings once.
const fewServices = 16

func (w *watcher) bindingsOfServices(ctx context.Context, namespace string, services map[string]bool) []reconcile.Request {
	var out []reconcile.Request
	if len(services) <= fewServices {
		for service := range services {
			out = append(out, w.bindingsOf(ctx, namespace, service)...)
		}
		return out
	}
	all := w.list(ctx, client.InNamespace(namespace))
	for i := range all {
		if services[all[i].Spec.ServiceRef.Name] {
			out = append(out, requestsOf(all[i:i+1])...)
		}
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
	pods := map[string][]*corev1.Pod{} // by namespace
	for _, pod := range w.resolver.PodByNode.At("", node.Name) {
		pods[pod.Namespace] = append(pods[pod.Namespace], pod)
	}
	for namespace := range pods {
		for _, request := range w.bindingsOfPods(ctx, namespace, pods[namespace]) {
			found[request] = true
		}
	}
	id, _ := endpoints.InstanceID(node)
	instance := w.list(ctx, client.MatchingFields{indexBindingType: string(v1beta1.TargetTypeInstance)})
	for i := range instance {
		key := client.ObjectKeyFromObject(&instance[i])
		selector, err := w.resolver.Selectors.Of(&instance[i])
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
