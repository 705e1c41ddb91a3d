// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/e2e/kubelet/address"
)

// backends are the sockets of the pods behind a port of a Service, by kube-proxy's rules: those that are ready, and when
// there is none, those that still serve while they terminate. With a node's name only those on that node count. It is pure.
func backends(slices []*discoveryv1.EndpointSlice, port, node string) []netip.AddrPort {
	var ready, leaving []netip.AddrPort
	for _, slice := range slices {
		number, found := targetPort(slice, port)
		if !found || slice.AddressType != discoveryv1.AddressTypeIPv4 {
			continue
		}
		for _, e := range slice.Endpoints {
			socket, known := socketOf(e, number)
			switch {
			case !known, node != "" && ptr.Deref(e.NodeName, "") != node:
			case ptr.Deref(e.Conditions.Ready, true):
				ready = append(ready, socket)
			case servesStill(e.Conditions):
				leaving = append(leaving, socket)
			}
		}
	}
	if len(ready) > 0 {
		return ready
	}
	return leaving
}

func servesStill(c discoveryv1.EndpointConditions) bool {
	return ptr.Deref(c.Serving, true) && ptr.Deref(c.Terminating, false)
}

// targetPort finds the number of the Service's TCP port of that name.
func targetPort(slice *discoveryv1.EndpointSlice, name string) (uint16, bool) {
	for _, p := range slice.Ports {
		if ptr.Deref(p.Name, "") == name && ptr.Deref(p.Protocol, corev1.ProtocolTCP) == corev1.ProtocolTCP && p.Port != nil {
			return uint16(*p.Port), true
		}
	}
	return 0, false
}

// socketOf is where an endpoint listens; what is not in the pods' 10.0.0.0/8 listens nowhere.
func socketOf(e discoveryv1.Endpoint, port uint16) (netip.AddrPort, bool) {
	addr, err := netip.ParseAddr(e.Addresses[0])
	if err != nil || !address.Pods.Contains(addr) {
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(address.Socket(addr), port), true
}
