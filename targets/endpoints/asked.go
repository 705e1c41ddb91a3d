// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

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

// AskedFor are those of the targets that one of the bindings wants, or will when they are ready. The bindings have one target type.
func (r *Resolver) AskedFor(ctx context.Context, bindings []*v1beta1.TargetGroupBinding, targets []elbv2.Target,
) (map[elbv2.Target]bool, error) {
	if len(bindings) == 0 || len(targets) == 0 {
		return nil, nil
	}
	pass := r.ForPass()
	nodes, err := r.nodesByID(ctx, bindings[0])
	if err != nil {
		return nil, err
	}
	out := map[elbv2.Target]bool{}
	for _, binding := range bindings {
		service, err := ServiceOf(ctx, r.reader, binding)
		if err != nil {
			return nil, err
		}
		port, missing, _ := servicePort(service, binding)
		if missing != "" {
			continue
		}
		wanted := portsOf(port, r.SliceByService.At(binding.Namespace, service.Name))
		for _, target := range targets {
			pods, err := pass.asksForPods(ctx, service, wanted, target)
			if err != nil {
				return nil, err
			}
			out[target] = out[target] || pods || r.asksForNode(binding, port, nodes[target.ID], target)
		}
	}
	return out, nil
}

// asksForPods reports whether a pod at the target is asked for that does not leave, by itself or with its node.
func (p *Pass) asksForPods(ctx context.Context, service *corev1.Service, wanted portsWanted, target elbv2.Target) (bool, error) {
	for _, pod := range p.PodByAddress.At(service.Namespace, target.ID) {
		if IsTerminating(pod) || !p.asksForPod(service, wanted, pod, target.Port) {
			continue
		}
		node, err := p.nodeOf(ctx, pod)
		if err != nil {
			return false, err
		}
		if !node.endsPods() {
			return true, nil
		}
	}
	return false, nil
}

// asksForPod reports whether a slice of the Service lists the pod at the port, or none lists it although the Service selects it: it
// has slipped out for the moment.
func (r *Resolver) asksForPod(service *corev1.Service, wanted portsWanted, pod *corev1.Pod, at int32) bool {
	listed := false
	for _, slice := range r.SliceByPod.At(pod.Namespace, pod.Name) {
		if slice.Labels[discoveryv1.LabelServiceName] != service.Name {
			continue
		}
		if slices.Contains(wanted.in(slice), at) {
			return true
		}
		listed = true
	}
	return !listed && Selects(service, pod)
}

// asksForNode reports whether the binding wants the instance at its node port, or will when one of its Nodes is ready.
func (r *Resolver) asksForNode(
	binding *v1beta1.TargetGroupBinding, port corev1.ServicePort, nodes []*corev1.Node, target elbv2.Target,
) bool {
	selector, err := r.Selectors.Of(binding)
	if err != nil || port.NodePort != target.Port {
		return false
	}
	return slices.ContainsFunc(nodes, func(node *corev1.Node) bool {
		s, _ := stateOfNode(node, selector)
		return s == Desired || s == NotReady
	})
}

// nodesByID are the nodes that may be targets, by instance ID, for a binding of type instance; read only.
func (r *Resolver) nodesByID(ctx context.Context, binding *v1beta1.TargetGroupBinding) (map[string][]*corev1.Node, error) {
	if binding.Spec.IsIP() {
		return nil, nil
	}
	var list corev1.NodeList
	if err := r.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	out := map[string][]*corev1.Node{}
	for i := range list.Items {
		if id, ok := InstanceID(&list.Items[i]); ok && !onFargate(&list.Items[i]) {
			out[id] = append(out[id], &list.Items[i])
		}
	}
	return out, nil
}
