// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
)

// Needs is what has to be looked up before a group can be built.
type Needs struct {
	lookup.Needs // in AWS
	Services     []types.NamespacedName
}

// NeedsOf is what the members of a group need that are read. Of its Input Members, Seen and Options count.
func NeedsOf(in Input) Needs {
	in.Members = slices.DeleteFunc(slices.Clone(in.Members), func(m membership.Member) bool { return m.Over != nil })
	n := Needs{Needs: lookup.Needs{Subnets: in.needsSubnets()}}
	for _, member := range in.Members {
		n.addMember(member, in.Options)
	}
	if !in.Options.WAFClassic {
		n.ClassicACLs = nil
	}
	n.Services = sorted(n.Services)
	for _, list := range []*[]string{&n.SecurityGroups, &n.TargetGroups, &n.TrustStores, &n.WebACLs, &n.ClassicACLs, &n.Hosts, &n.Owned} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return n
}

// sorted has each of the Services once, in order.
func sorted(services []types.NamespacedName) []types.NamespacedName {
	slices.SortFunc(services, func(a, b types.NamespacedName) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return slices.Compact(services)
}

// needsSubnets reports whether the load balancer, or what stands in front of it, may get other subnets than it has.
func (in *Input) needsSubnets() bool {
	lb, schemes := in.SeenLoadBalancer(), []string(nil)
	for _, member := range in.Members {
		params := member.Settings()
		scheme, _, _ := annotation.Scheme.In(member.Ingress.Annotations) // a wrong one asks for nothing
		if scheme = cmp.Or(ptr.Deref(params.Scheme, ""), scheme); scheme != "" {
			schemes = append(schemes, scheme)
		}
		if in.asksForSubnets(member) || getsIPv6(member, lb) || getsIPv6(member, in.SeenFront()) {
			return true
		}
	}
	if len(schemes) == 0 {
		schemes = []string{in.Options.DefaultScheme}
	}
	return len(in.Members) > 0 && (lb == nil || in.Rediscover) || lb != nil && !slices.Contains(schemes, lb.Scheme)
}

// asksForSubnets reports whether a member says anything of subnets, or of what stands in front that needs some.
func (in *Input) asksForSubnets(member membership.Member) bool {
	subnets, _, _ := annotation.Subnets.In(member.Ingress.Annotations)
	return len(subnets) > 0 || member.Settings().Subnets != nil || in.needsFrontSubnets(member)
}

// getsIPv6 reports whether a member asks for IPv6 addresses that the load balancer is there without: its subnets may have none.
func getsIPv6(member membership.Member, lb *stack.LoadBalancer) bool {
	wanted, _, _ := annotation.AddressType.In(member.Ingress.Annotations)
	return lb != nil && !stack.IsDualstack(lb.AddressType) && stack.IsDualstack(cmp.Or(ptr.Deref(member.Settings().IPAddressType, ""), wanted))
}

func (n *Needs) addMember(member membership.Member, options Options) {
	ingress := member.Ingress
	groups, _ := SecurityGroupsOf(member) // wrong ones need nothing
	front, _, _ := annotation.FrontSecurityGroups.In(ingress.Annotations)
	for _, entry := range slices.Concat(groups, front) {
		if !lookup.IsSecurityGroupID(entry) {
			n.SecurityGroups = append(n.SecurityGroups, entry)
		}
	}
	certificates, _, _ := annotation.Certificates.In(ingress.Annotations)
	switch {
	case len(certificates)+len(member.Settings().CertificateArn) > 0:
	case options.IssueCertificates && AsksForCertificate(member):
		n.Own = true
	default:
		n.addHosts(ingress)
	}
	n.addNames(member)
	n.Owners = options.Consent.Asks()
	n.addBackends(ingress, options.Sizes().MostPaths())
}

// MostTargetGroups is how many names of target groups are looked up for one Ingress, as AWS lets a load balancer have so many
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html).
const MostTargetGroups = 100

// ServicesOf are the Services that an Ingress names, each once, sorted, also when it has too many paths to be read.
func ServicesOf(ingress *networkingv1.Ingress) []types.NamespacedName {
	return servicesOf(ingress, math.MaxInt)
}

// servicesOf are those of an Ingress of which so many paths are read.
func servicesOf(ingress *networkingv1.Ingress, mostPaths int) []types.NamespacedName {
	var n Needs
	n.addBackends(ingress, mostPaths)
	return sorted(n.Services)
}

// PathsOf counts the paths of an Ingress.
func PathsOf(ingress *networkingv1.Ingress) (paths int) {
	for _, rule := range ingress.Spec.Rules {
		if rule.HTTP != nil {
			paths += len(rule.HTTP.Paths)
		}
	}
	return paths
}

// addBackends adds what the backends of an Ingress need; of one with more paths than may be read, what its default backend needs.
func (n *Needs) addBackends(ingress *networkingv1.Ingress, mostPaths int) {
	read := map[string]bool{} // the names of actions
	var groups []string
	isRead := PathsOf(ingress) <= mostPaths
	for _, rule := range ingress.Spec.Rules {
		if isRead && rule.HTTP != nil {
			for _, path := range rule.HTTP.Paths {
				groups = append(groups, n.addBackend(ingress, path.Backend, read)...)
			}
		}
	}
	if ingress.Spec.DefaultBackend != nil {
		groups = append(groups, n.addBackend(ingress, *ingress.Spec.DefaultBackend, read)...)
	}
	groups = lookup.Unique(groups)
	for _, group := range groups[:min(len(groups), MostTargetGroups)] {
		if isARN(group) {
			n.Owned = append(n.Owned, group)
		} else {
			n.TargetGroups = append(n.TargetGroups, group)
		}
	}
}

// addNames adds the names of trust stores and web ACLs, and what is to be known of Shield.
func (n *Needs) addNames(member membership.Member) {
	_, shield, _ := annotation.Shield.In(member.Ingress.Annotations)
	n.Shield = n.Shield || shield
	mutual, _, _ := annotation.MutualAuthentication.In(member.Ingress.Annotations)
	for _, entry := range mutual {
		if entry.TrustStore != "" && !TrustStoreARN.MatchString(entry.TrustStore) {
			n.TrustStores = append(n.TrustStores, entry.TrustStore)
		}
	}
	if name := WebACLName(member); name != "" && name != annotation.NoWebACL {
		n.WebACLs = append(n.WebACLs, name)
	}
	key := ClassicACLKey(member)
	if id, _, _ := key.In(member.Ingress.Annotations); id != "" && id != annotation.NoWebACL {
		n.ClassicACLs = append(n.ClassicACLs, id)
	}
}

// addHosts adds the hosts of an Ingress that listens for HTTPS.
func (n *Needs) addHosts(ingress *networkingv1.Ingress) {
	ports, _, _ := annotation.ListenPorts.In(ingress.Annotations)
	if !slices.Contains(slices.Collect(maps.Values(ports)), annotation.HTTPS) {
		return
	}
	for _, host := range HostsOf(ingress) {
		n.Hosts = append(n.Hosts, host.Name)
	}
}

// isARN reports whether it is no name of a target group.
func isARN(group string) bool { return strings.HasPrefix(group, "arn:") }

// addBackend adds the Services that a backend needs, and returns the names of target groups, and the ARNs of those whose owners are to be
// known. Of an action that is read nothing is added again.
func (n *Needs) addBackend(ingress *networkingv1.Ingress, backend networkingv1.IngressBackend, read map[string]bool) (groups []string) {
	service := backend.Service
	if service == nil {
		return nil
	}
	if service.Port.Name != UseAnnotation {
		n.addService(ingress, service.Name)
		return nil
	}
	if read[service.Name] {
		return nil
	}
	read[service.Name] = true
	action, _, _ := annotation.Actions.Member(service.Name).In(ingress.Annotations)
	if action.ForwardConfig == nil {
		return nil
	}
	for _, target := range action.ForwardConfig.TargetGroups {
		switch {
		case target.ServiceName != "":
			n.addService(ingress, target.ServiceName)
		case target.TargetGroupARN == "":
			groups = append(groups, target.TargetGroupName)
		case n.Owners && isARN(target.TargetGroupARN):
			groups = append(groups, target.TargetGroupARN)
		}
	}
	return groups
}

func (n *Needs) addService(ingress *networkingv1.Ingress, name string) {
	n.Services = append(n.Services, types.NamespacedName{Namespace: ingress.Namespace, Name: name})
}

// needsFrontSubnets reports whether the subnets of the VPC are needed for what stands in front.
func (in *Input) needsFrontSubnets(member membership.Member) bool {
	enabled, _, _ := annotation.EnableFront.In(member.Ingress.Annotations)
	subnets, _, _ := annotation.FrontSubnets.In(member.Ingress.Annotations)
	scheme, _, _ := annotation.FrontScheme.In(member.Ingress.Annotations)
	seen := in.SeenFront()
	return len(subnets) > 0 || enabled && (seen == nil || seen.Scheme != cmp.Or(scheme, in.Options.DefaultScheme))
}
