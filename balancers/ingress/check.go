// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/reading"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
)

// checker finds members of a draft that must be held, as what they ask for does not fit the rest.
type checker struct{ *draft }

// check is what is wrong with members in the light of what the group agrees on. The first kind of fault is enough: what follows is checked
// without the members that have it. It finds the subnets of the load balancer, too.
func (d checker) check() map[*reading.Reading]fault.Fault {
	for _, check := range []func() map[*reading.Reading]fault.Fault{
		d.checkAddressType, d.checkPool, d.checkFamilies, d.checkVersions, d.checkRedirect, d.checkDowngrades,
		d.checkCertificates, d.checkSubnets, d.checkCustomerPool, d.checkFallbacks, newQuotaChecker(d.draft).check, frontBuilder(d).checkFront,
	} {
		if faults := check(); len(faults) > 0 {
			return faults
		}
	}
	return nil
}

// checkAddressType finds load balancers that are to have no public addresses of one family where there are none of the other.
func (d checker) checkAddressType() map[*reading.Reading]fault.Fault {
	if d.addressType() != annotation.OnlyPublicIPv6 || d.scheme() == annotation.InternetFacing {
		return nil
	}
	return d.voters(annotation.AddressType.Name, "the load balancer is "+d.scheme()+": set another type, or the scheme "+
		annotation.InternetFacing)
}

// checkPool finds pools of public addresses for load balancers without any.
func (d checker) checkPool() map[*reading.Reading]fault.Fault {
	if _, ok := d.Votes[annotation.IPAMPool.Name]; !ok || d.scheme() == annotation.InternetFacing {
		return nil
	}
	return d.voters(annotation.IPAMPool.Name, "the load balancer is "+d.scheme()+" and has no public addresses: set the scheme "+
		annotation.InternetFacing)
}

// checkCustomerPool finds pools of a customer's own addresses for load balancers that are created elsewhere than on an Outpost.
func (d checker) checkCustomerPool() map[*reading.Reading]fault.Fault {
	isOnOutpost := func(s lookup.Subnet) bool { return s.Locale == "outpost" && slices.Contains(d.subnets, s.ID) }
	if d.balancer != nil && d.balancer.Scheme == d.scheme() || slices.ContainsFunc(d.in.AWS.Subnets, isOnOutpost) {
		return nil
	}
	return d.voters(annotation.CustomerPool.Name, "the load balancer has no subnet on an Outpost: set one in "+
		annotation.Subnets.FullName()+", or no pool")
}

// checkFamilies finds targets of a family that the load balancer has not.
func (d checker) checkFamilies() map[*reading.Reading]fault.Fault {
	faults := map[*reading.Reading]fault.Fault{}
	for _, r := range d.built {
		for _, group := range r.Groups {
			if group.AddressType == "ipv6" && !stack.IsDualstack(d.addressType()) {
				faults[r] = fault.Fault{
					Field: "spec", Value: group.Part,
					Reason: "the Service has IPv6 in spec.ipFamilies, and the load balancer is " + d.addressType() +
						": set " + annotation.AddressType.FullName() + " dualstack, or a Service of IPv4 alone",
				}
			}
		}
	}
	return faults
}

// checkVersions finds rules of HTTP listeners that send to targets by HTTP/2 or gRPC: AWS has those behind HTTPS alone.
func (d checker) checkVersions() map[*reading.Reading]fault.Fault {
	owners := d.byName()
	versions := map[string]string{} // by target group
	for _, r := range d.built {
		for _, group := range r.Groups {
			versions[group.Part] = group.ProtocolVersion
		}
	}
	faults := map[*reading.Reading]fault.Fault{}
	for _, l := range d.listeners {
		if l.protocol != annotation.HTTP || l.redirected {
			continue
		}
		for _, rule := range append(slices.Clone(l.rules), l.fallbacks()...) {
			for _, part := range reading.GroupsOf(rule.Action) {
				r, version := owners[rule.Owner], versions[part]
				if _, known := faults[r]; !known && (version == "HTTP2" || version == reading.GRPC) {
					faults[r] = fault.Fault{Field: rule.Field, Value: part, Reason: fmt.Sprintf(
						"the targets are reached by %s, which AWS does not have behind HTTP, as on port %d: set HTTPS alone in %s, or a redirect in %s",
						version, l.port, annotation.ListenPorts.FullName(), annotation.SSLRedirect.FullName())}
				}
			}
		}
	}
	return faults
}

// checkDowngrades finds redirects of HTTPS listeners to HTTP, which AWS does not have.
func (d checker) checkDowngrades() map[*reading.Reading]fault.Fault {
	faults, owners := map[*reading.Reading]fault.Fault{}, d.byName()
	for _, l := range d.listeners {
		if l.protocol != annotation.HTTPS {
			continue
		}
		for _, rule := range append(slices.Clone(l.rules), l.fallbacks()...) {
			if to := rule.Action.Redirect; to == nil || to.Protocol != string(annotation.HTTP) {
				continue
			}
			r := owners[rule.Owner]
			key := annotation.Actions.FullName() + rule.Backend
			if _, known := faults[r]; !known {
				faults[r] = fault.Fault{Annotation: key, Value: r.Annotations()[key], Reason: fmt.Sprintf(
					"AWS redirects no HTTPS to HTTP, as on port %d: set HTTPS or %s in redirectConfig.protocol, or HTTP alone in %s",
					l.port, annotation.SameProtocol, annotation.ListenPorts.FullName())}
			}
		}
	}
	return faults
}

// checkRedirect finds those that redirect to a port that is no HTTPS listener.
func (d checker) checkRedirect() map[*reading.Reading]fault.Fault {
	port, err := strconv.ParseInt(d.redirectPort(), 10, 32)
	if err != nil {
		return nil
	}
	for _, r := range d.built {
		if r.Ports[int32(port)] == annotation.HTTPS {
			return nil
		}
	}
	if seen := d.balancer.ListenerOn(int32(port)); seen != nil && seen.Protocol == string(annotation.HTTPS) && d.heldOn(seen.Port) {
		return nil // it stays
	}
	return d.voters(annotation.SSLRedirect.Name, "no HTTPS listener of the group has this port: name one that has, as in "+
		annotation.ListenPorts.FullName())
}

// checkCertificates finds HTTPS listeners without one.
func (d checker) checkCertificates() map[*reading.Reading]fault.Fault {
	faults := map[*reading.Reading]fault.Fault{}
	for _, l := range d.listeners {
		if l.protocol != annotation.HTTPS || len(l.certificates) > 0 {
			continue
		}
		for _, r := range l.members {
			faults[r] = fault.Fault{
				Annotation: annotation.ListenPorts.FullName(), Value: r.Annotations()[annotation.ListenPorts.FullName()],
				Reason: "port " + strconv.Itoa(int(l.port)) + " is HTTPS and has no certificate: set " + annotation.Certificates.FullName() +
					", or a host whose certificate is in ACM" + reading.UnusedSecret(r.Member.Ingress, ""),
			}
		}
	}
	return faults
}

// checkSubnets finds the subnets. If there are none, those have a fault who are to blame, and those others whose own subnets are no better.
func (d checker) checkSubnets() map[*reading.Reading]fault.Fault {
	if len(d.built) == 0 {
		return nil
	}
	subnets, err := d.findSubnets(d.Agreed)
	if d.subnets = subnets; err == nil {
		return nil
	}
	faults := d.blameForSubnets(err)
	d.addRivals(faults)
	return faults
}

// blameForSubnets finds the member without which there are subnets; else those who speak of them.
func (d checker) blameForSubnets(err error) map[*reading.Reading]fault.Fault {
	speakers := map[string]int{} // by setting
	for _, r := range d.built {
		for _, setting := range subnetSettings {
			if r.Says(setting) {
				speakers[setting]++
			}
		}
	}
	for _, r := range slices.Backward(d.built) {
		if !slices.ContainsFunc(subnetSettings, func(setting string) bool { return r.Says(setting) && speakers[setting] == 1 }) {
			continue // without it all is said just the same
		}
		others := slices.DeleteFunc(slices.Clone(d.built), func(other *reading.Reading) bool { return other == r })
		without, _ := reading.Agree(others, reading.Pinned(others, d.seen))
		if _, stillWrong := d.findSubnets(without); stillWrong == nil {
			return map[*reading.Reading]fault.Fault{r: subnetFault(r, err)}
		}
	}
	faults := map[*reading.Reading]fault.Fault{}
	for _, r := range d.built {
		if len(speakers) == 0 || slices.ContainsFunc(subnetSettings, r.Says) {
			faults[r] = subnetFault(r, err)
		}
	}
	return faults
}

// addRivals adds the faults of members that disagree with the group, and whose own subnets are wrong, too: else each would take a round of
// its own.
func (d checker) addRivals(faults map[*reading.Reading]fault.Fault) {
	rest := slices.DeleteFunc(slices.Clone(d.built), func(r *reading.Reading) bool { return faults[r] != (fault.Fault{}) })
	agreed, _ := reading.Agree(rest, reading.Pinned(rest, d.seen))
	for r := range d.conflicts {
		if !r.Says(annotation.Subnets.Name) {
			continue
		}
		own := reading.Agreed{Votes: map[string]reading.Vote{}}
		for _, setting := range subnetSettings {
			if vote, ok := agreed.Votes[setting]; ok {
				own.Votes[setting] = vote
			}
			if vote, ok := r.Votes[setting]; ok {
				own.Votes[setting] = vote
			}
		}
		if _, err := d.findSubnets(own); err != nil {
			faults[r] = subnetFault(r, err)
		}
	}
}

// subnetSettings are those that the choice of subnets depends on.
var subnetSettings = []string{annotation.Subnets.Name, annotation.AddressType.Name, annotation.Scheme.Name}

func (d checker) findSubnets(a reading.Agreed) ([]string, error) {
	scheme := a.Get(annotation.Scheme.Name, d.in.Options.DefaultScheme)
	addressType := a.Get(annotation.AddressType.Name, annotation.AddressType.Default)
	var present []string
	if d.balancer != nil && d.balancer.Scheme == scheme {
		present = d.balancer.Subnets
	}
	return d.in.Subnets().Choose(a.Get(annotation.Subnets.Name, ""), scheme, addressType, present)
}

// subnetFault is the fault of a member whose subnets are wrong, at the first setting that it says.
func subnetFault(r *reading.Reading, err error) fault.Fault {
	fault := fault.Fault{Field: "spec"}
	for _, setting := range subnetSettings {
		if vote, ok := r.Votes[setting]; ok {
			fault = vote.From
			break
		}
	}
	fault.Reason = err.Error()
	return fault
}
