// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// serviceFinalizer is that of Services for which aws-load-balancer-controller makes load balancers, which have the group, too.
const serviceFinalizer = "service.k8s.aws/resources"

// neededBy is the object of the cluster that needs the security group, "" for none: one with the finalizer of a controller that makes load
// balancers, or a binding that lets it in.
func (c *Collector) neededBy(ctx context.Context, group string) (string, error) {
	var (
		services corev1.ServiceList
		bindings v1beta1.TargetGroupBindingList
	)
	if held, err := c.Held(ctx); held != "" || err != nil {
		return held, err
	}
	for _, list := range []client.ObjectList{&services, &bindings} {
		if err := c.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return "", fmt.Errorf("listing %T: %w", list, err)
		}
	}
	for i := range services.Items {
		if slices.Contains(services.Items[i].Finalizers, serviceFinalizer) {
			return nameOf("Service", &services.Items[i]), nil
		}
	}
	for i := range bindings.Items {
		if letsIn(&bindings.Items[i], group) {
			return nameOf("TargetGroupBinding", &bindings.Items[i]), nil
		}
	}
	return "", nil
}

func nameOf(kind string, o client.Object) string {
	return kind + " " + o.GetNamespace() + "/" + o.GetName()
}

// letsIn reports whether a binding has its targets let the security group in.
func letsIn(b *v1beta1.TargetGroupBinding, group string) bool {
	if b.Spec.Networking == nil {
		return false
	}
	isGroup := func(p v1beta1.NetworkingPeer) bool { return p.SecurityGroup != nil && p.SecurityGroup.GroupID == group }
	return slices.ContainsFunc(b.Spec.Networking.Ingress, func(rule v1beta1.NetworkingIngressRule) bool {
		return slices.ContainsFunc(rule.From, isGroup)
	})
}

// usedBy is what uses the security group in AWS and is not ours to take away, "" for nothing.
func usedBy(uses stack.Uses) string {
	var list []string
	for _, name := range uses.LoadBalancers {
		list = append(list, "load balancer "+name)
	}
	for _, rule := range uses.Rules {
		if !rule.Ours {
			list = append(list, "a rule of security group "+rule.Group)
		}
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ", ")
}
