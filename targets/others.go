// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// mine says which targets may be deregistered for the binding: of a shared group those that its record lists and that no other
// binding in the cluster asks for. Whoever may write ConfigMaps in the namespace may list there what they like, and bindings that
// share a group may have a pod in common. Endpoints are the binding's own, nil when it goes.
func (r *Registrar) mine(ctx context.Context, s session, binding *v1beta1.TargetGroupBinding,
	endpoints map[elbv2.Target]endpoint, entries map[elbv2.Target]entry,
) (func(elbv2.Target) bool, error) {
	if !binding.Spec.MultiClusterTargetGroup {
		return func(elbv2.Target) bool { return true }, nil
	}
	ours := s.group.recorded()
	var doubtful []elbv2.Target // the others are living endpoints of the binding
	for target := range ours {
		ep, explained := endpoints[target]
		_, known := entries[target]
		if explained && (ep.standing == leaving || ep.standing == replaced) || !explained && known {
			doubtful = append(doubtful, target)
		}
	}
	theirs, err := r.resolver.askedForByOthers(ctx, binding, doubtful)
	if err != nil {
		return nil, err
	}
	return func(target elbv2.Target) bool {
		_, listed := ours[target]
		return listed && !theirs[target]
	}, nil
}

// askedForByOthers are those of the targets that other bindings of the target group want, or will when they are ready: these take
// care of them from now on. Of a pod or node that is leaving each binding takes care. A binding that is deleted asks for nothing.
func (r *resolver) askedForByOthers(ctx context.Context, binding *v1beta1.TargetGroupBinding, targets []elbv2.Target,
) (map[elbv2.Target]bool, error) {
	if len(targets) == 0 {
		return nil, nil
	}
	others, err := r.othersIn(ctx, binding)
	if err != nil {
		return nil, err
	}
	nodes, err := r.nodesByID(ctx, binding)
	if err != nil {
		return nil, err
	}
	out := map[elbv2.Target]bool{}
	for _, other := range others {
		service, err := r.service(ctx, other)
		if err != nil {
			return nil, err
		}
		port, missing := servicePort(service, other)
		if missing != "" {
			continue
		}
		for _, target := range targets {
			out[target] = out[target] || r.asksForPods(service, port, target) || r.asksForNode(other, port, nodes[target.ID], target)
		}
	}
	return out, nil
}

// othersIn are the other bindings of the binding's target group that are there to stay; read only.
func (r *resolver) othersIn(ctx context.Context, binding *v1beta1.TargetGroupBinding) ([]*v1beta1.TargetGroupBinding, error) {
	var list v1beta1.TargetGroupBindingList
	err := r.reader.List(ctx, &list, client.UnsafeDisableDeepCopy, client.MatchingFields{indexBindingGroup: binding.Spec.TargetGroupARN})
	if err != nil {
		return nil, fmt.Errorf("listing bindings of the target group: %w", err)
	}
	var others []*v1beta1.TargetGroupBinding
	for i := range list.Items {
		other := &list.Items[i]
		sameKind := other.Spec.IsIP() == binding.Spec.IsIP()
		if other.UID != binding.UID && other.DeletionTimestamp.IsZero() && sameKind && incomplete(&other.Spec) == "" {
			others = append(others, other)
		}
	}
	return others, nil
}

func (r *resolver) asksForPods(service *corev1.Service, port corev1.ServicePort, target elbv2.Target) bool {
	return slices.ContainsFunc(r.podByAddress.at(service.Namespace, target.ID), func(pod *corev1.Pod) bool {
		return !isLeaving(pod) && r.asksForPod(service, port, pod, target.Port)
	})
}

// asksForPod reports whether a slice of the Service lists the pod at the port, or none lists it although the Service selects it: it
// has slipped out for the moment.
func (r *resolver) asksForPod(service *corev1.Service, port corev1.ServicePort, pod *corev1.Pod, at int32) bool {
	listed := false
	for _, slice := range r.sliceByPod.at(pod.Namespace, pod.Name) {
		if slice.Labels[discoveryv1.LabelServiceName] != service.Name {
			continue
		}
		if slices.Contains(slicePorts(slice, port.Name), at) {
			return true
		}
		listed = true
	}
	return !listed && selects(service, pod)
}

// asksForNode reports whether the binding wants the node at its node port, or will when the node is ready. Node is nil when there
// is none.
func (r *resolver) asksForNode(binding *v1beta1.TargetGroupBinding, port corev1.ServicePort, node *corev1.Node, target elbv2.Target) bool {
	selector, err := r.selectors.of(binding)
	if err != nil || node == nil || port.NodePort != target.Port {
		return false
	}
	s, _ := nodeStanding(node, selector)
	return s == wanted || s == unready
}

// nodesByID are the nodes that may be targets, by instance ID, for a binding of type instance; read only.
func (r *resolver) nodesByID(ctx context.Context, binding *v1beta1.TargetGroupBinding) (map[string]*corev1.Node, error) {
	if binding.Spec.IsIP() {
		return nil, nil
	}
	var list corev1.NodeList
	if err := r.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	out := map[string]*corev1.Node{}
	for i := range list.Items {
		if id, ok := instanceID(&list.Items[i]); ok && !onFargate(&list.Items[i]) {
			out[id] = &list.Items[i]
		}
	}
	return out, nil
}
