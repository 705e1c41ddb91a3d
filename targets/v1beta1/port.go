// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"cmp"
	"fmt"
)

// The transports of ports, as Kubernetes spells them.
const (
	transportTCP = "TCP"
	transportUDP = "UDP"
)

// Carries reports whether a target group of the protocol sends to its targets over a transport, which is TCP where it is empty. Of a
// protocol that is not known yet that is TCP, as of most.
func (p Protocol) Carries(transport string) bool {
	if transport == "" {
		transport = transportTCP
	}
	switch p {
	case "UDP", "QUIC":
		return transport == transportUDP
	case "TCP_UDP", "TCP_QUIC":
		return transport == transportTCP || transport == transportUDP
	default:
		return transport == transportTCP
	}
}

// PortChoice is which port of a Service a reference means. A Service may have a number twice, for TCP and for UDP.
type PortChoice struct {
	// Index is that of the port, -1 if there is none.
	Index int
	// Fits is whether the target group sends over the port's transport. If not, the Service has no port that does.
	Fits bool
	// Other is the index of another port that fits, -1 if there is none.
	Other int
}

// PortOf returns which of so many ports of a Service the reference means for a target group of the protocol: of those with the name or
// number the first one that the group sends to, else the first one.
func (r *ServiceReference) PortOf(
	group Protocol, count int, at func(int) (name string, number int32, transport string),
) PortChoice {
	chosen := PortChoice{Index: -1, Other: -1}
	for i := range count {
		name, number, transport := at(i)
		if !r.Matches(name, number) {
			continue
		}
		switch fits := group.Carries(transport); {
		case chosen.Index < 0, fits && !chosen.Fits:
			chosen.Index, chosen.Fits = i, fits
		case fits && chosen.Other < 0:
			chosen.Other = i
		}
	}
	return chosen
}

// Doubt is what users should know of a port that was chosen, empty if there is nothing. At says of each port over which transport and to
// which port of a target it leads.
func (r *ServiceReference) Doubt(group Protocol, chosen PortChoice, at func(int) (transport, target string)) string {
	if chosen.Index < 0 || group == "" {
		return ""
	}
	transport, target := at(chosen.Index)
	if !chosen.Fits {
		return fmt.Sprintf("port %s of Service %q is for %s, and the target group's protocol is %s: its targets are registered, but they get "+
			"what they may not listen for. Name another port, or correct spec.ports[].protocol of the Service",
			r.Port.String(), r.Name, cmp.Or(transport, transportTCP), group)
	}
	if chosen.Other < 0 {
		return ""
	}
	otherTransport, otherTarget := at(chosen.Other)
	if target == otherTarget {
		return ""
	}
	return fmt.Sprintf("port %s of Service %q is twice there, for %s at target port %s and for %s at target port %s, and a target group of "+
		"protocol %s sends both to one port: the first is registered. Give both one target port, or name one by its name",
		r.Port.String(), r.Name, cmp.Or(transport, transportTCP), target, cmp.Or(otherTransport, transportTCP), otherTarget, group)
}
