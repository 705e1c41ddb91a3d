// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/networking/members"
)

// Progress is how far the wishes of a binding are.
type Progress string

// The values of Progress.
const (
	Ready       Progress = "Ready"       // every rule is in its group
	Progressing Progress = "Progressing" // calls are due or under way
	Failed      Progress = "Failed"      // something has to be changed, or EC2 refuses a call
)

// Reasons of a State.
const (
	ReasonRulesPresent      = "RulesPresent"
	ReasonResolving         = "Resolving"
	ReasonGranting          = "Granting"
	ReasonInvalidNetworking = "InvalidNetworking"
	ReasonUnresolved        = "UnresolvedMembers"
	ReasonRulesMissing      = "RulesMissing"
	ReasonRecordsUnreadable = "RecordsUnreadable"
	ReasonReleasing         = "Releasing"
	ReasonRulesLeft         = "RulesLeft"
)

// maxNamed is how many members, or rules of a group, a message names.
const maxNamed = 5

// State is what became of a binding's wishes, for the condition NetworkingReady.
type State struct {
	Progress Progress
	Reason   string
	// Message names up to 5 of what fails and, when nothing does, which group has which rules.
	Message string
}

// stateOf judges a binding. The caller holds the lock.
func (m *Manager) stateOf(state *bindingState) State {
	switch {
	case state.released:
		return m.releaseState(state)
	case state.want.Networking == nil && state.resolved:
		return State{}
	case m.noLoad != nil:
		return noRecords(m.noLoad)
	case state.tried != state.version:
		return State{Progressing, ReasonResolving, "the network interfaces of the pods or nodes are being looked up"}
	case state.fault != nil:
		return State{Failed, ReasonInvalidNetworking, events.Cut(state.fault.Error() + "; the rules stay as they were until this is corrected")}
	}
	missing, pending := m.missingOf(state)
	switch {
	case len(missing) > 0:
		return State{Failed, ReasonRulesMissing, events.Cut(strings.Join(missing, "; "))}
	case state.trouble.text != "":
		return state.trouble.state()
	case pending != "":
		return State{Progressing, ReasonGranting, events.Cut(pending)}
	default:
		return State{Ready, ReasonRulesPresent, events.Cut(m.presentText(state))}
	}
}

func (t trouble) state() State {
	if t.passing {
		return State{Progressing, ReasonResolving, events.Cut(t.text)}
	}
	return State{Failed, ReasonUnresolved, events.Cut(t.text)}
}

// noRecords is the State while it is not known which rules are ours.
func noRecords(err error) State {
	progress := Progressing
	if isRefused(err) {
		progress = Failed
	}
	return State{progress, ReasonRecordsUnreadable, events.Cut("no security group is changed while the records of security group rules " +
		"cannot be read: " + awserr.Message(err))}
}

func (m *Manager) releaseState(state *bindingState) State {
	left, needed := m.leftOf(state)
	var others string
	if len(needed) > 0 {
		others = "the deletion does not wait for rules that another binding, or owner of the security group, may need: " + leftText(needed)
	}
	tell := func(progress Progress, reason, text string) State {
		text += leftText(left)
		if why := m.stuckText(left); why != "" {
			text += "; " + why
		}
		if others != "" {
			text += "; " + others
		}
		return State{progress, reason, events.Cut(text)}
	}
	switch {
	case m.noLoad != nil:
		return noRecords(m.noLoad)
	case !m.loaded:
		return State{Progressing, ReasonReleasing, "the records of security group rules are being read"}
	case len(left) == 0 && others == "":
		return State{}
	case len(left) == 0:
		return State{Ready, ReasonRulesLeft, events.Cut(others)}
	case state.timedOut(m.Clock, m.ReleaseTimeout):
		return tell(Failed, ReasonRulesLeft, "these rules are left, and are removed once that is possible: ")
	default:
		return tell(Progressing, ReasonReleasing, "these rules are being removed: ")
	}
}

// stuckText says why EC2 does not remove the rules that are left in these security groups, empty when nothing is known to be wrong.
func (m *memory) stuckText(left map[string][]ec2.Rule) string {
	for _, id := range slices.Sorted(maps.Keys(left)) {
		if err := m.groups[id].last.stuck; err != nil {
			return awserr.Message(err)
		}
	}
	return ""
}

// missingOf is why rules of the binding are not in their groups, and which groups were not passed since the binding wished.
func (m *memory) missingOf(state *bindingState) (missing []string, pending string) {
	causes := map[string]struct{}{}
	for _, id := range slices.Sorted(maps.Keys(state.wishes)) {
		group := m.groups[id]
		if group == nil || !group.passed || group.last.view.seq < state.seq {
			pending = "rules are being added to security group " + id
			continue
		}
		if part := group.last.shares[state.want.Key]; part != nil {
			maps.Copy(causes, part.causes)
			if part.pending != "" {
				pending = "rules are being added to security group " + id + "; last: " + part.pending
			}
		}
	}
	missing = slices.Sorted(maps.Keys(causes))
	return missing[:min(len(missing), maxNamed)], pending
}

// presentText names the rules in the groups that the binding needs.
func (m *memory) presentText(state *bindingState) string {
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(state.wishes)) {
		if part := m.groups[id].last.shares[state.want.Key]; part != nil {
			parts = append(parts, part.text)
		}
	}
	if len(parts) == 0 {
		return "no pod or node needs a rule"
	}
	return strings.Join(parts, "; ")
}

// share is what a pass over a security group says of one binding. It is made outside the lock: one binding may need as many rules as all
// others together.
type share struct {
	rules   []ec2.Rule          // that the binding needs
	text    string              // the group, and up to 5 of the rules
	causes  map[string]struct{} // why some of them are missing for good
	pending string              // why others are missing for now
}

func sharesOf(id string, out outcome) map[types.NamespacedName]*share {
	shares := map[types.NamespacedName]*share{}
	for rule, bindings := range out.wanted {
		err, missing := out.missing[rule]
		var text string
		if missing {
			text = awserr.Message(err)
		}
		for key := range bindings {
			part := shares[key]
			if part == nil {
				part = &share{causes: map[string]struct{}{}}
				shares[key] = part
			}
			part.rules = append(part.rules, rule)
			switch {
			case missing && members.IsPassing(err):
				part.pending = text
			case missing && len(part.causes) <= maxNamed:
				part.causes[text] = struct{}{}
			}
		}
	}
	for _, part := range shares {
		part.text = leftText(map[string][]ec2.Rule{id: part.rules})
	}
	return shares
}

// problemText names unresolved members as the incumbent does.
func problemText(problems []problem) string {
	var unresolved, other []string
	kind := "pod ENI for pods"
	for _, p := range problems {
		text := fmt.Sprintf("%s: %s", p.member.Name, awserr.Message(p.err))
		if p.final {
			other = append(other, "pod "+text)
			continue
		}
		if !p.member.Pod {
			kind = "node ENI for nodes"
		}
		unresolved = append(unresolved, text)
	}
	var parts []string
	if len(unresolved) > 0 {
		parts = append(parts, fmt.Sprintf("cannot resolve %s: [%s]", kind, strings.Join(named(unresolved), ", ")))
	}
	return strings.Join(append(parts, named(other)...), "; ")
}

func named(texts []string) []string {
	if more := len(texts) - maxNamed; more > 0 {
		return append(slices.Clone(texts[:maxNamed]), fmt.Sprintf("and %d more", more))
	}
	return texts
}
