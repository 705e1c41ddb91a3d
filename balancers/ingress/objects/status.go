// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/frontend"
	"github.com/targetgate/targetgate/balancers/stack"
)

// Addresses are the host names in the status of an Ingress.
func (f *Ingresses) Addresses(object client.Object) []string {
	entries := object.(*networkingv1.Ingress).Status.LoadBalancer.Ingress
	out := make([]string, len(entries))
	for i, entry := range entries {
		out[i] = entry.Hostname
	}
	return out
}

// ShowsFrontAlone reports whether the status of the Ingress is to name what stands in front of the load balancer alone.
func (f *Ingresses) ShowsFrontAlone(member frontend.Member) bool {
	return ingressOf(member).ShowsFrontAlone()
}

// StatusOf is what the status of an Ingress says.
func (f *Ingresses) StatusOf(object client.Object) string {
	return valueOf(object.(*networkingv1.Ingress).Status.LoadBalancer.Ingress)
}

// StatusFor has the load balancer with the ports of all listeners, in order: as with the incumbent, all members have the same. Behind it
// comes what stands in front, or in its place if the member wants that.
func (f *Ingresses) StatusFor(_ client.Object, shown, front *stack.LoadBalancer, frontAlone bool) frontend.Status {
	entries := entriesOf(shown, front, frontAlone)
	return frontend.Status{
		Value: valueOf(entries),
		Text: func() string {
			if len(entries) == 0 {
				return "nothing"
			}
			return textOf(entries[0])
		},
		Set: func(object client.Object) { object.(*networkingv1.Ingress).Status.LoadBalancer.Ingress = entries },
	}
}

func entriesOf(shown, front *stack.LoadBalancer, frontAlone bool) []networkingv1.IngressLoadBalancerIngress {
	if shown == nil {
		return nil
	}
	entry := networkingv1.IngressLoadBalancerIngress{Hostname: strings.ToLower(shown.DNSName)}
	var ports []int32
	for _, listener := range shown.Listeners {
		ports = append(ports, listener.Port)
	}
	slices.Sort(ports)
	for _, port := range ports {
		entry.Ports = append(entry.Ports, networkingv1.IngressPortStatus{Port: port})
	}
	if front == nil {
		return []networkingv1.IngressLoadBalancerIngress{entry}
	}
	inFront := networkingv1.IngressLoadBalancerIngress{Hostname: strings.ToLower(front.DNSName)}
	if frontAlone {
		return []networkingv1.IngressLoadBalancerIngress{inFront}
	}
	return []networkingv1.IngressLoadBalancerIngress{entry, inFront}
}

// valueOf is the same for entries that say the same.
func valueOf(entries []networkingv1.IngressLoadBalancerIngress) string {
	return fmt.Sprint(shape(entries))
}

// shape is what counts of a status. That a port is of TCP goes without saying.
func shape(entries []networkingv1.IngressLoadBalancerIngress) (out []string) {
	for _, entry := range entries {
		out = append(out, entry.Hostname, entry.IP)
		for _, port := range entry.Ports {
			out = append(out, fmt.Sprint(port.Port, cmp.Or(port.Protocol, corev1.ProtocolTCP), ptr.Deref(port.Error, "")))
		}
	}
	return out
}

func textOf(entry networkingv1.IngressLoadBalancerIngress) string {
	ports := make([]string, len(entry.Ports))
	for i, port := range entry.Ports {
		ports[i] = fmt.Sprint(port.Port)
	}
	return entry.Hostname + " with ports " + strings.Join(ports, ", ")
}
