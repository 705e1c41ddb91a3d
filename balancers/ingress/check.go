// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"slices"
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
	for _, r := range g.built {
		if r.ports[int32(port)] == HTTPS {
			return nil
		}
	}
	if seen := seenListener(g.balancer, int32(port)); seen != nil && seen.Protocol == string(HTTPS) && g.heldOn(seen.Port) {
		return nil // it stays
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

// checkSubnets finds the subnets. If there are none, that member has the fault without which there are; else those who speak of them.
func (g *group) checkSubnets() map[*reading]Fault {
	if len(g.built) == 0 {
		return nil
	}
	subnets, err := g.findSubnets(g.agreed)
	if g.subnets = subnets; err == nil {
		return nil
	}
	speaks := func(r *reading) bool {
		return slices.ContainsFunc(subnetSettings, func(setting string) bool { return r.says(setting) })
	}
	for _, r := range slices.Backward(g.built) {
		if !speaks(r) || len(g.built) == 1 {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(g.built), func(other *reading) bool { return other == r })
		without, _ := agree(others, pinned(others, g.seen))
		if _, stillWrong := g.findSubnets(without); stillWrong == nil {
			return map[*reading]Fault{r: r.subnetFault(err)}
		}
	}
	faults := map[*reading]Fault{}
	for _, r := range g.built {
		if speaks(r) || !slices.ContainsFunc(g.built, speaks) {
			faults[r] = r.subnetFault(err)
		}
	}
	return faults
}

// subnetSettings are those that the choice of subnets depends on.
var subnetSettings = []string{Subnets.Name, AddressType.Name, Scheme.Name}

func (r *reading) subnetFault(err error) Fault {
	fault := Fault{Field: "spec"}
	for _, setting := range subnetSettings {
		if vote, ok := r.votes[setting]; ok {
			fault = vote.from
			break
		}
	}
	fault.Reason = err.Error()
	return fault
}

func (g *group) findSubnets(a agreed) ([]string, error) {
	scheme, addressType := a.get(Scheme.Name, g.in.Options.DefaultScheme), a.get(AddressType.Name, AddressType.Default)
	var present []string
	if g.balancer != nil && g.balancer.Scheme == scheme {
		present = g.balancer.Subnets
	}
	return g.in.subnets(a.get(Subnets.Name, ""), scheme, addressType, present)
}
