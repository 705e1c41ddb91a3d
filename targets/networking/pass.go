// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/targets/networking/ruleset"
	"github.com/targetgate/targetgate/targets/retry"
)

// pass makes one pass over a security group, and tells the bindings that it matters to.
func (m *Manager) pass(ctx context.Context, id string) (time.Duration, error) {
	p, tenant := m.preparePass(id)
	if p == nil {
		return 0, nil
	}
	out := p.run(budget.WithCharge(ctx, budget.Charge{Urgency: p.class.Now(), Tenant: tenant}))
	out.shares = sharesOf(id, out)
	if ctx.Err() != nil {
		return 0, nil
	}
	if errors.Is(out.err, errNoGroup) && len(out.view.wishes) == 0 && !out.record.Young(m.Clock.Now()) {
		return 0, m.dropGroup(ctx, id, out.view.seq)
	}
	m.finishPass(ctx, id, out)
	if out.err != nil {
		return 0, out.err
	}
	return retry.Soonest(out.again, retry.Soonest(out.watch(m.Clock.Now()), retry.Jitter(m.DriftInterval))), nil
}

// preparePass is the pass that is due, nil if there is nothing to do about the group any more.
func (m *Manager) preparePass(id string) (p *groupPass, tenant string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	state := m.groups[id]
	if state == nil {
		return nil, ""
	}
	if len(state.Record) == 0 && state.Err == nil && state.passed && !m.isWished(id) {
		delete(m.groups, id)
		m.gauge()
		return nil, ""
	}
	class := budget.ClassOther
	if tenant = state.tenant; tenant != "" {
		class, state.tenant = budget.ClassRegister, ""
	}
	return &groupPass{
		ec2: m.EC2, records: m.Records, clock: m.Clock, class: class, id: id, refusals: state.refusals, last: state.last,
		rewrite: tenant == "" && state.passed,
		view:    func(ctx context.Context) view { return m.view(ctx, id) },
		input: ruleset.Input{
			Record: state.Record, Unreadable: state.Err != nil, Restricted: m.Restricted, Quota: m.RuleQuota, Cluster: m.ClusterName,
			Refusals: state.refusals,
		},
	}, tenant
}

func (m *memory) isWished(id string) bool {
	for _, binding := range m.bindings {
		if len(binding.wishes[id]) > 0 {
			return true
		}
	}
	return false
}

// view is what all bindings wish of a group now. Bindings that are listed and were never wanted, since the start or at all, may wish for
// all that their specs can yield; so may those whose members are not resolved. If the list cannot be read, every rule may be wished.
func (m *Manager) view(ctx context.Context, id string) view {
	listed, err := m.List(ctx)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list bindings, no security group rule is removed")
	}
	v, unseen := m.wishesOf(id, listed)
	var foreign []asker
	for i, reach := range m.reaches.of(unseen) {
		binding := unseen[i]
		if asks := (asker{binding.Key, reach}); binding.Foreign {
			foreign = append(foreign, asks)
		} else {
			v.unresolved = append(v.unresolved, asks)
		}
	}
	v.listed = err == nil
	v.blocked = func(rule ec2.Rule) bool { return err != nil || anyTouches(v.unresolved, rule) }
	v.foreign = func(rule ec2.Rule) bool { return m.Partial || anyTouches(foreign, rule) }
	return v
}

func anyTouches(bindings []asker, rule ec2.Rule) bool {
	return slices.ContainsFunc(bindings, func(b asker) bool { return b.reach.Touches(rule) })
}

// blockers are up to 5 of the bindings that are not resolved and may wish for one of the rules.
func (v view) blockers(rules []ec2.Rule) []string {
	var names []string
	for _, binding := range v.unresolved {
		if slices.ContainsFunc(rules, binding.reach.Touches) {
			names = append(names, binding.key.String())
		}
	}
	slices.Sort(names)
	return named(slices.Compact(names)) // one may be there twice: deleted, and made again
}

// wishesOf are the wishes for a group, what bindings that are not resolved can ask for, and the listed bindings of which nothing else
// is known.
func (m *Manager) wishesOf(id string, listed []Binding) (v view, unseen []Binding) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v = view{wishes: map[types.NamespacedName]ruleset.Rules{}, seq: m.seq}
	for key, binding := range m.bindings {
		if len(binding.wishes[id]) > 0 {
			v.wishes[key] = binding.wishes[id]
		}
		if !binding.resolved && !binding.released {
			v.unresolved = append(v.unresolved, asker{key, binding.reach})
		}
	}
	for _, binding := range listed {
		if known := m.bindings[binding.Key]; known == nil || known.want.UID != binding.UID && !known.released {
			unseen = append(unseen, binding)
		}
	}
	return v, unseen
}

// finishPass keeps what a pass left behind, and wakes the bindings whose State it changed. Rules that stay are told once.
func (m *Manager) finishPass(ctx context.Context, id string, out outcome) {
	flows := out.flows()
	out.view = view{seq: out.view.seq} // the rest is as large as all bindings together, and other passes have their own
	m.mu.Lock()
	state := m.groups[id]
	if !out.decided {
		out.kept, out.unowned = state.last.kept, state.last.unowned // the last that is known
	}
	news := len(out.unowned) != len(state.last.unowned) || len(out.kept) != len(state.last.kept)
	stuck := isNews(out.stuck, state.last.stuck)
	state.Record, state.refusals, state.flows, state.last, state.passed = out.record, out.refusals, flows, out, true
	var wake []types.NamespacedName
	for key, binding := range m.bindings {
		if (binding.released || len(binding.wishes[id]) > 0) && m.changed(binding) {
			wake = append(wake, key)
		}
	}
	m.gauge()
	m.mu.Unlock()
	out.tell(ctx, id, news, stuck)
	for _, key := range wake {
		m.Wake(key)
	}
}

// tell logs which rules others have removed and, if that is news, which stay and why EC2 removes none.
func (out *outcome) tell(ctx context.Context, id string, news, stuck bool) {
	log := ctrl.LoggerFrom(ctx)
	if stay := append(slices.Clone(out.unowned), out.kept...); news && len(stay) > 0 {
		log.Info("Keeping security group rules with aws-load-balancer-controller's description that no binding needs: "+
			"remove them by hand if nothing else needs them", "rules", leftText(map[string][]ec2.Rule{id: stay}),
			"notOurs", len(out.unowned), "perhapsUsedByOthers", len(out.kept))
	}
	if stuck {
		log.Info("Failed to remove security group rules that no binding needs any longer, will retry",
			"securityGroup", id, "reason", awserr.Message(out.stuck))
	}
	if len(out.lost) > 0 {
		log.Info("Re-added security group rules that someone else had removed",
			"rules", leftText(map[string][]ec2.Rule{id: out.lost}))
	}
}

// isNews reports whether a pass is stuck that was not before, or for another reason.
func isNews(stuck, before error) bool {
	return stuck != nil && (before == nil || awserr.Message(stuck) != awserr.Message(before))
}

// dropGroup forgets a security group that is gone, and its record, unless a binding has come to wish for rules of it.
func (m *Manager) dropGroup(ctx context.Context, id string, seq uint64) error {
	m.mu.Lock()
	wished := m.isWished(id)
	m.mu.Unlock()
	if wished {
		return errNoGroup
	}
	if err := m.Records.Save(ctx, id, ruleset.Record{}); err != nil {
		return err
	}
	m.mu.Lock()
	m.groups[id].Err = nil // the record that could not be read is gone
	m.mu.Unlock()
	m.finishPass(ctx, id, outcome{view: view{seq: seq}, record: ruleset.Record{}, decided: true})
	m.groupQueue.Add(id) // for the last time
	return nil
}

// gauge sets the gauges. The caller holds the lock.
func (m *memory) gauge() {
	wanted, missing, unowned := 0, 0, 0
	for _, group := range m.groups {
		wanted += len(group.last.wanted)
		missing += len(group.last.missing)
		unowned += len(group.last.unowned)
	}
	rulesWanted.Set(float64(wanted))
	rulesMissing.Set(float64(missing))
	rulesUnowned.Set(float64(unowned))
}

// leftOf are the rules of ours that a released binding could have asked for and that should go and have not, by security group; and
// those that stay, because another binding or owner of the group may need them. Groups that were not passed since the release count
// with what their records hold, and what was wished of them.
func (m *memory) leftOf(state *bindingState) (left, needed map[string][]ec2.Rule) {
	left, needed = map[string][]ec2.Rule{}, map[string][]ec2.Rule{}
	add := func(to map[string][]ec2.Rule, id string, rules []ec2.Rule) {
		if rules = state.reach.Touching(rules); len(rules) > 0 {
			to[id] = append(to[id], rules...)
		}
	}
	for id, group := range m.groups {
		switch {
		case !state.reach.HasAny(group.flows) && len(state.before[id]) == 0:
		case !group.passed || group.last.view.seq < state.seq || !group.last.decided:
			add(left, id, group.Record.AllOurs().Union(state.before[id]).UnsortedList())
		default:
			add(left, id, group.last.leaving)
			add(needed, id, group.last.waiting)
			add(needed, id, group.last.kept)
		}
	}
	return left, needed
}
