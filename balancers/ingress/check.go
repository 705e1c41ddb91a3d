// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"strconv"
)

// check is what is wrong with members in the light of what the group agrees on. The first kind of fault is enough: what follows is checked
// without the members that have it. It finds the subnets of the load balancer, too.
func (g *group) check() map[*reading]Fault {
	for _, check := range []func() map[*reading]Fault{g.checkFamilies, g.checkRedirect, g.checkCertificates, g.checkSubnets, g.checkQuotas} {
		if faults := check(); len(faults) > 0 {
			return faults
		}
	}
	return nil
}

// checkFamilies finds targets of a family that the load balancer has not.
func (g *group) checkFamilies() map[*reading]Fault {
	faults := map[*reading]Fault{}
	for _, r := range g.built {
		for _, group := range r.groups {
			if group.AddressType == "ipv6" && !isDualstack(g.addressType()) {
				faults[r] = Fault{
					Field: "spec", Value: group.Part,
					Reason: "the Service has IPv6 in spec.ipFamilies, and the load balancer is " + g.addressType() +
						": want " + Prefix + AddressType.Name + " dualstack, or a Service of IPv4 alone",
				}
			}
		}
	}
	return faults
}

// checkRedirect finds those that redirect to a port that is no HTTPS listener.
func (g *group) checkRedirect() map[*reading]Fault {
	port, err := strconv.ParseInt(g.redirectPort(), 10, 32)
	if err != nil {
		return nil
	}
	for _, r := range g.all {
		if r.ports[int32(port)] == HTTPS {
			return nil
		}
	}
	if seen := seenListener(g.balancer, int32(port)); seen != nil && seen.Protocol == string(HTTPS) && len(g.held) > 0 {
		return nil
	}
	return g.voters(SSLRedirect.Name, "no HTTPS listener of the group has this port: want one that has, as in "+Prefix+ListenPorts.Name)
}

// voters have a fault of what they say of the setting.
func (g *group) voters(setting, reason string) map[*reading]Fault {
	faults := map[*reading]Fault{}
	for _, r := range g.built {
		if vote, ok := r.votes[setting]; ok {
			fault := vote.from
			fault.Reason = reason
			faults[r] = fault
		}
	}
	return faults
}

// checkCertificates finds HTTPS listeners without one.
func (g *group) checkCertificates() map[*reading]Fault {
	faults := map[*reading]Fault{}
	for _, l := range g.listeners {
		if l.protocol != HTTPS || len(l.certificates) > 0 {
			continue
		}
		for _, r := range l.members {
			faults[r] = Fault{
				Annotation: Prefix + ListenPorts.Name, Value: r.annotations()[Prefix+ListenPorts.Name],
				Reason: "port " + strconv.Itoa(int(l.port)) + " is HTTPS and has no certificate: want " + Prefix + Certificates.Name +
					", or a host whose certificate is in ACM",
			}
		}
	}
	return faults
}

// checkSubnets finds the subnets. If they cannot be found, those who named them have the fault, else those who want another scheme than the
// load balancer has, else all.
func (g *group) checkSubnets() map[*reading]Fault {
	if len(g.built) == 0 {
		return nil
	}
	var present []string
	if g.balancer != nil && g.balancer.Scheme == g.scheme() {
		present = g.balancer.Subnets
	}
	subnets, err := g.in.subnets(g.get(Subnets.Name, ""), g.scheme(), g.addressType(), present)
	if g.subnets = subnets; err == nil {
		return nil
	}
	for _, setting := range []string{Subnets.Name, Scheme.Name} {
		if faults := g.voters(setting, err.Error()); len(faults) > 0 {
			return faults
		}
	}
	faults := map[*reading]Fault{}
	for _, r := range g.built {
		faults[r] = Fault{Field: "spec", Reason: err.Error()}
	}
	return faults
}
