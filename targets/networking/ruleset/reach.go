// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ruleset

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// ports is a range of ports; portSet are ranges in order, none of which touches another.
type (
	ports   struct{ from, to int32 }
	portSet []ports
)

var allPorts = portSet{{0, lastPort}}

// Reach is what rules can be asked for: of each flow, sets of ports. It is not changed after it was made.
type Reach map[Flow][]portSet

// Touches reports whether the rule has a port in common with one that can be asked for. A merged rule touches what it may stand for.
func (r Reach) Touches(rule ec2.Rule) bool {
	return slices.ContainsFunc(r[FlowOf(rule)], func(set portSet) bool { return set.touches(ports{rule.From, rule.To}) })
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
	reach := Reach{}
	if networking == nil {
		return reach
	}
	for _, rule := range networking.Ingress {
		sets := portSetsOf(rule.Ports)
		for _, peer := range rule.From {
			source, fault := sourceOf(peer, nil)
			if fault != nil {
				continue
			}
			for protocol, set := range sets {
				flow := Flow{Protocol: protocol, Source: source}
				reach[flow] = append(reach[flow], set)
			}
		}
	}
	return reach
}

// portSetsOf are the ports that a rule of a spec can ask for, by protocol.
func portSetsOf(asked []v1beta1.NetworkingPort) map[string]portSet {
	if len(asked) == 0 {
		return map[string]portSet{"tcp": allPorts}
	}
	sets := map[string]portSet{}
	for _, port := range asked {
		if protocol, fault := protocolOf(port, nil); fault == nil {
			sets[protocol] = append(sets[protocol], portsThatMayBe(port.Port))
		}
	}
	for protocol, set := range sets {
		sets[protocol] = joined(set)
	}
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
			set := portSet{{rule.From, rule.To}}
			if rule.From == 0 {
				set = allPorts
			}
			reach[FlowOf(rule)] = append(reach[FlowOf(rule)], set)
		}
	}
	return reach
}

// UnionOf is what any of these can ask for.
func UnionOf(reaches ...Reach) Reach {
	union := Reach{}
	for _, reach := range reaches {
		for flow, sets := range reach {
			union[flow] = append(union[flow], sets...)
		}
	}
	return union
}
