// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ruleset

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// ports is a range of ports; portSet are ranges in order, none of which touches another.
type (
	ports   struct{ from, to int32 }
	portSet []ports
)

var allPorts = portSet{{0, lastPort}}

// portSets are the ports of one rule of a spec by protocol: of the two that specs have.
type portSets struct{ tcp, udp portSet }

func (s *portSets) of(protocol string) portSet {
	switch protocol {
	case "tcp":
		return s.tcp
	case "udp":
		return s.udp
	default:
		return nil
	}
}

func (s *portSets) add(protocol string, p ports) {
	if protocol == "tcp" {
		s.tcp = append(s.tcp, p)
	} else {
		s.udp = append(s.udp, p)
	}
}

// Reach is what rules can be asked for: from each source, sets of ports. The peers of one rule of a spec share its sets, so that a reach
// grows with the fields of the spec, and not with what they multiply to. It is not changed after it was made.
type Reach map[ec2.Source][]*portSets

// Touches reports whether the rule has a port in common with one that can be asked for. A merged rule touches what it may stand for.
func (r Reach) Touches(rule ec2.Rule) bool {
	return slices.ContainsFunc(r[rule.Source], func(sets *portSets) bool {
		return sets.of(rule.Protocol).touches(ports{rule.From, rule.To})
	})
}

// has reports whether rules of the flow can be asked for.
func (r Reach) has(flow Flow) bool {
	return slices.ContainsFunc(r[flow.Source], func(sets *portSets) bool { return len(sets.of(flow.Protocol)) > 0 })
}

// HasAny reports whether rules of one of the flows can be asked for. It goes through the smaller of the two, as either may be large.
func (r Reach) HasAny(flows sets.Set[Flow]) bool {
	if len(flows) < len(r) {
		for flow := range flows {
			if r.has(flow) {
				return true
			}
		}
		return false
	}
	for source := range r {
		for _, protocol := range []string{"tcp", "udp"} {
			if flow := (Flow{Protocol: protocol, Source: source}); flows.Has(flow) && r.has(flow) {
				return true
			}
		}
	}
	return false
}

func (s portSet) touches(p ports) bool {
	at, _ := slices.BinarySearchFunc(s, p.from, func(p ports, first int32) int { return cmp.Compare(p.to, first) })
	return at < len(s) && s[at].from <= p.to
}

// Touching are those of the rules that the reach touches.
func (r Reach) Touching(rules []ec2.Rule) (out []ec2.Rule) {
	for _, rule := range rules {
		if r.Touches(rule) {
			out = append(out, rule)
		}
	}
	return out
}

// ReachOf is what a spec can ask for, whatever its members are: a number is that port, a name may be any. Peers with faults yield
// nothing; a port with a fault may become any. The work grows with the fields of the spec, not with the rules that they multiply to.
func ReachOf(networking *v1beta1.TargetGroupBindingNetworking) Reach {
	if networking == nil {
		return Reach{}
	}
	peers := 0
	for _, rule := range networking.Ingress {
		peers += len(rule.From)
	}
	reach := make(Reach, peers)
	for _, rule := range networking.Ingress {
		sets := portSetsOf(rule.Ports)
		for _, peer := range rule.From {
			if source, fault := sourceOf(peer, nil); fault == nil {
				reach[source] = append(reach[source], sets)
			}
		}
	}
	return reach
}

// portSetsOf are the ports that a rule of a spec can ask for.
func portSetsOf(asked []v1beta1.NetworkingPort) *portSets {
	if len(asked) == 0 {
		return &portSets{tcp: allPorts}
	}
	sets := &portSets{}
	for _, port := range asked {
		if protocol, fault := protocolOf(port, nil); fault == nil {
			sets.add(protocol, portsThatMayBe(port.Port))
		}
	}
	sets.tcp, sets.udp = joined(sets.tcp), joined(sets.udp)
	return sets
}

// portsThatMayBe is the port, or all of them: for no port, a name, a number that is none, and 0, which a merged rule takes for all.
func portsThatMayBe(port *intstr.IntOrString) ports {
	if port == nil || port.Type == intstr.String || port.IntVal <= 0 || port.IntVal > lastPort {
		return allPorts[0]
	}
	return ports{port.IntVal, port.IntVal}
}

// joined puts ranges in order and joins those that touch.
func joined(set portSet) portSet {
	if len(set) == 0 {
		return nil
	}
	slices.SortFunc(set, func(a, b ports) int { return cmp.Compare(a.from, b.from) })
	out := set[:1]
	for _, p := range set[1:] {
		if last := &out[len(out)-1]; p.from <= last.to+1 {
			last.to = max(last.to, p.to)
			continue
		}
		out = append(out, p)
	}
	return out
}

// ReachOfWishes is what the wishes are themselves.
func ReachOfWishes(wishes map[string]Rules) Reach {
	reach := Reach{}
	for _, rules := range wishes {
		for rule := range rules {
			asked, sets := ports{rule.From, rule.To}, &portSets{}
			if rule.From == 0 {
				asked = allPorts[0]
			}
			sets.add(rule.Protocol, asked)
			reach[rule.Source] = append(reach[rule.Source], sets)
		}
	}
	return reach
}

// UnionOf is what any of these can ask for.
func UnionOf(reaches ...Reach) Reach {
	union := Reach{}
	for _, reach := range reaches {
		for source, sets := range reach {
			union[source] = append(union[source], sets...)
		}
	}
	return union
}
