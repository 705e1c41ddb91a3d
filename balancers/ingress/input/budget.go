// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
)

// Budget is how much the members of a group may ask for in all to be read: a small multiple of AWS's quotas. What stands in an Ingress is
// multiplied when it is read, as paths by ports: 200 KiB can make millions of rules, and none of AWS's quotas has room for them.
type Budget struct {
	// Members are those that are read. Each has a rule, or asks for nothing of its own.
	Members int
	// Rules are paths x ports. Besides rules these are redirects to themselves, and rules of listeners that redirect, which AWS never has.
	Rules int
	// Ports are those on which members listen, each once.
	Ports int
	// Inbound are sources x ports: CIDRs and prefix lists, of a port those of the member that has most.
	Inbound int
	// Conditions are the commas in annotations of conditions, which stand between their values.
	Conditions int
	// Certificates are the ARNs that members name, each once.
	Certificates int
	// Names are those that are looked up in AWS, each once.
	Names int
	// WebACLs are the names and IDs of web ACLs, each once: each takes a call of its own, of which AWS allows few.
	WebACLs int
	// Bytes are those of our annotations, and of those of Services for each Ingress that names them.
	Bytes int
}

// AWS's quotas that no flag raises here.
const (
	// mostListeners is how many listeners a load balancer has
	// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html).
	mostListeners = 50
	// mostInboundRules is how many inbound rules of IPv4, and as many of IPv6, count at a network interface, however many security groups
	// it has (https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html).
	mostInboundRules = 1000
)

// Budget follows from the quotas. One that is set below AWS's default counts as that.
func (s Sizes) Budget() Budget {
	const (
		commasOfRule = 30       // twice those of 5 conditions with a value each
		bytesOfRule  = 40 << 10 // five times the longest action, conditions, transforms and login that AWS takes
	)
	rules, certificates := max(s.Rules, 100), max(s.Certificates, 25)
	return Budget{
		Members: 5 * rules, Rules: 10 * rules, Ports: 2 * mostListeners, Inbound: 2 * mostInboundRules,
		Conditions: commasOfRule * rules, Certificates: 10 * certificates, Names: 2 * MostTargetGroups, WebACLs: 5,
		Bytes: bytesOfRule * rules,
	}
}

// Bound marks the members whose wishes have no room in the budget of the group: nothing of them is read but their ports. Those come first
// that are served, then those that ask for less: so a member that asks for much has no room, and no other. It returns the places of members
// in that order. What Services add counts as far as they are known, so that it is called again when they are. Its time is linear in the
// bytes of the members.
func (in *Input) Bound() (order []int) {
	in.Members = slices.Clone(in.Members)
	used, served := newUse(in.Options.Sizes().Budget()), in.served()
	all := make([]*sized, len(in.Members))
	for i := range in.Members {
		all[i] = in.sizeOf(&in.Members[i])
		all[i].place, all[i].share = i, all[i].shareOf(used.budget)
		if served(in.Members[i]) {
			all[i].turn = -1
		}
	}
	slices.SortStableFunc(all, func(a, b *sized) int { return cmp.Or(cmp.Compare(a.turn, b.turn), cmp.Compare(a.share, b.share)) })
	for _, s := range all {
		if order = append(order, s.place); s.member.Over == nil {
			s.member.Over = used.add(s)
		}
	}
	return order
}

// served reports whether a member is seen to have a target group, or the load balancer in its status. Where two names begin alike, both
// may have the target group.
func (in *Input) served() func(membership.Member) bool {
	names, hosts := map[string]bool{}, map[string]bool{}
	for _, group := range in.Seen.TargetGroups {
		for i, c := range group.Part {
			if c == '-' {
				names[group.Part[:i]] = true
			}
		}
	}
	for _, balancer := range in.Seen.LoadBalancers {
		hosts[strings.ToLower(balancer.DNSName)] = true
	}
	return func(m membership.Member) bool {
		return names[membership.NameOf(m.Ingress)] || slices.ContainsFunc(m.Ingress.Status.LoadBalancer.Ingress,
			func(entry networkingv1.IngressLoadBalancerIngress) bool {
				return hosts[strings.ToLower(entry.Hostname)] && entry.Hostname != ""
			})
	}
}

// sized is a member with what it asks for.
type sized struct {
	member *membership.Member
	place  int     // in the group
	turn   int     // whose is lower comes first
	share  float64 // the largest part of one of the sums that it asks for

	ports                                      map[int32]annotation.Protocol // nil for one
	rules, sources, inbound, conditions, bytes int
	certificates, names, acls                  []string
}

// sizeOf counts what a member asks for. What cannot be parsed counts as one, as it is held for that.
func (in *Input) sizeOf(member *membership.Member) *sized {
	annotations, params := member.Ingress.Annotations, member.Settings()
	s := &sized{member: member}
	if member.Over != nil {
		return s
	}
	s.ports, _, _ = annotation.ListenPorts.In(annotations)
	for name, value := range annotations {
		if !strings.HasPrefix(name, annotation.Prefix) {
			continue
		}
		s.bytes += len(name) + len(value)
		if strings.HasPrefix(name, annotation.Conditions.FullName()) {
			s.conditions += 1 + strings.Count(value, ",")
		}
	}
	s.bytes += member.Ingress.Spec.Size()
	s.sources = max(2, itemsOf(annotations[annotation.InboundCIDRs.FullName()])+itemsOf(annotations[annotation.PrefixLists.FullName()])+
		len(params.InboundCIDRs)+len(params.PrefixLists()))
	listening := max(1, len(s.ports))
	s.inbound = product(s.sources, listening)
	if sizes, paths := in.Options.Sizes(), PathsOf(member.Ingress); paths <= sizes.MostPaths() && !sizes.HasTooMany(member.Ingress) {
		s.rules = product(paths, listening) // of more, none is read
	}
	s.certificates, _, _ = annotation.Certificates.In(annotations)
	s.addNeeds(in)
	return s
}

// addNeeds counts what is looked up for the member.
func (s *sized) addNeeds(in *Input) {
	var needs Needs
	needs.addMember(*s.member, in.Options)
	for kind, names := range map[string][]string{
		"security group ": needs.SecurityGroups, "target group ": needs.TargetGroups, "owner of ": needs.Owned, "trust store ": needs.TrustStores,
	} {
		for _, name := range names {
			s.names = append(s.names, kind+name)
		}
	}
	s.acls = slices.Concat(needs.WebACLs, needs.ClassicACLs)
	slices.Sort(s.names)
	s.names = slices.Compact(s.names)
	for _, key := range sorted(needs.Services) {
		service := in.Services[key]
		if service == nil {
			continue
		}
		for name, value := range service.Annotations {
			if strings.HasPrefix(name, annotation.Prefix) {
				s.bytes += len(name) + len(value)
			}
		}
	}
}

// itemsOf is how many items a list has at most.
func itemsOf(list string) int {
	if list == "" {
		return 0
	}
	return 1 + strings.Count(list, ",")
}

// product is that of two numbers, neither of which is negative, however large it is.
func product(a, b int) int {
	if b > 0 && a > math.MaxInt32/b {
		return math.MaxInt32
	}
	return a * b
}

func (s *sized) shareOf(b Budget) float64 {
	largest := 0.0
	for _, part := range [][2]int{
		{s.rules, b.Rules}, {len(s.ports), b.Ports}, {s.inbound, b.Inbound}, {s.conditions, b.Conditions},
		{len(s.certificates), b.Certificates}, {len(s.names), b.Names}, {len(s.acls), b.WebACLs}, {s.bytes, b.Bytes},
	} {
		largest = max(largest, float64(part[0])/float64(part[1]))
	}
	return largest
}

// use is what is used of a budget.
type use struct {
	budget                            Budget
	members, rules, conditions, bytes int
	inbound                           int
	sources                           map[int32]int // by port
	certificates, names, acls         map[string]bool
}

func newUse(b Budget) *use {
	return &use{budget: b, sources: map[int32]int{}, certificates: map[string]bool{}, names: map[string]bool{}, acls: map[string]bool{}}
}

// sum is one of a budget: how much a member asks for, and how much the group uses with it.
type sum struct {
	own, all, limit int
	what, source    string
}

// add is why the member has no room; nil if it has, and then it is counted.
func (u *use) add(s *sized) *fault.Fault {
	ports, inbound := u.ports(s)
	b := u.budget
	for _, sum := range []sum{
		{1, u.members + 1, b.Members, "Ingresses", "5 times the quota of rules"},
		{s.rules, u.rules + s.rules, b.Rules, "rules (paths x listeners)", "10 times the quota of rules"},
		{len(s.ports), len(u.sources) + ports, b.Ports, "listeners", "twice AWS's quota"},
		{s.inbound, u.inbound + inbound, b.Inbound, "inbound rules (sources x listeners)", "twice what AWS allows at a network interface"},
		{s.conditions, u.conditions + s.conditions, b.Conditions, "values in annotations of conditions", "30 for each rule of the quota"},
		{len(s.certificates), grown(u.certificates, s.certificates), b.Certificates, "certificates", "10 times the quota"},
		{len(s.names), grown(u.names, s.names), b.Names, "names to look up in AWS", "twice the quota of target groups"},
		{len(s.acls), grown(u.acls, s.acls), b.WebACLs, "web ACLs to look up in AWS", "a load balancer has one"},
		{s.bytes, u.bytes + s.bytes, b.Bytes, "bytes of annotations and rules", "40 KiB for each rule of the quota"},
	} {
		if sum.all > sum.limit {
			return sum.fault()
		}
	}
	u.take(s)
	return nil
}

func (s sum) fault() *fault.Fault {
	has := fmt.Sprintf("this Ingress has %d %s", s.own, s.what)
	if s.all > s.own {
		has = fmt.Sprintf("the group has %d %s with this Ingress, which has %d", s.all, s.what, s.own)
	}
	return &fault.Fault{Field: "spec", Reason: fmt.Sprintf("%s, and at most %d are read (%s), so the Ingress is not read: use fewer, "+
		"or another group", has, s.limit, s.source)}
}

// ports is how many listeners and inbound rules a member adds to those of the others.
func (u *use) ports(s *sized) (listeners, inbound int) {
	for port := range s.ports {
		before, known := u.sources[port]
		if !known {
			listeners++
		}
		inbound += max(0, s.sources-before)
	}
	return listeners, inbound
}

func grown(known map[string]bool, names []string) int {
	n := len(known)
	for _, name := range names {
		if !known[name] {
			n++
		}
	}
	return n
}

func (u *use) take(s *sized) {
	_, inbound := u.ports(s)
	u.members++
	u.rules, u.inbound, u.conditions, u.bytes = u.rules+s.rules, u.inbound+inbound, u.conditions+s.conditions, u.bytes+s.bytes
	for port := range s.ports {
		u.sources[port] = max(u.sources[port], s.sources)
	}
	for _, of := range []struct {
		known map[string]bool
		names []string
	}{{u.names, s.names}, {u.certificates, s.certificates}, {u.acls, s.acls}} {
		for _, name := range of.names {
			of.known[name] = true
		}
	}
}
