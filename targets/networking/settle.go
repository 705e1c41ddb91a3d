// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"time"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/targets/networking/ruleset"
	"github.com/targetgate/targetgate/targets/retry"
)

// settleGrants brings the record up to date after the grants. A rule that EC2 held already is ours only if the record said so
// before: our own call of an earlier pass may have added it. One that was certainly not added is not ours.
func settleGrants(next, before ruleset.Record, grants []ec2.Rule, sent *sender, now time.Time) {
	for _, rule := range grants {
		err := sent.results[rule]
		wasOurs := before.Ours(rule)
		switch {
		case err == nil, ec2.IsDuplicate(err) && wasOurs:
			if now.Sub(next[rule].At) > settlePause { // the call had to wait
				next[rule] = ruleset.Entry{Phase: ruleset.Granted, At: now}
			}
		case ec2.IsDuplicate(err):
			delete(next, rule)
		case awserr.HadNoEffect(err) || err == errNotTried: //nolint:errorlint // it is never wrapped
			restore(next, before, rule)
		}
	}
}

// settleRevokes brings the record up to date after the revokes. Those that were not sent, or certainly had no effect, are as before;
// of the others EC2 may have removed any.
func settleRevokes(next, before ruleset.Record, revokes []ec2.Permission, sent *sender, now time.Time) {
	for _, permission := range revokes {
		rule := permission.Rule
		if sent == nil {
			restore(next, before, rule)
			continue
		}
		err, tried := sent.results[rule]
		switch {
		case !tried:
			restore(next, before, rule)
		case err == nil || ec2.IsRuleNotFound(err):
			next[rule] = ruleset.Entry{Phase: ruleset.Revoked, At: now}
		case awserr.HadNoEffect(err) || err == errNotTried: //nolint:errorlint // it is never wrapped
			restore(next, before, rule)
		}
	}
}

func restore(next, before ruleset.Record, rule ec2.Rule) {
	if entry, known := before[rule]; known {
		next[rule] = entry
		return
	}
	delete(next, rule)
}

// noteLost notes rules that the last pass left in the group, and that EC2 has taken again. A read alone does not tell: it may be old.
func (p *groupPass) noteLost(granted *sender, out *outcome) {
	for rule, err := range granted.results {
		_, wanted := p.last.wanted[rule]
		_, missing := p.last.missing[rule]
		if err == nil && wanted && !missing {
			out.lost, out.lostAt = append(out.lost, rule), p.clock.Now()
		}
	}
}

// watch is after which the group is read again because rules were removed by somebody else, who may do so again: 0 for no reason. It
// doubles while no more are, and comes to nothing beyond the next drift check.
func (out *outcome) watch(now time.Time) time.Duration {
	if out.lostAt.IsZero() {
		return 0
	}
	return max(lostPause, now.Sub(out.lostAt))
}

// schedule says what is left, and when to pass again.
func (p *groupPass) schedule(d *ruleset.Decision, out *outcome, granted, revoked *sender) {
	soonest := func(pause time.Duration) { out.again = retry.Soonest(out.again, pause) }
	now := p.clock.Now()
	for _, known := range out.refusals {
		soonest(max(known.RetryAt.Sub(now), morePause))
	}
	if granted.untried() || revoked != nil && revoked.untried() {
		soonest(morePause)
	}
	gone := 0
	for _, permission := range d.Revokes {
		if out.record.Ours(permission.Rule) {
			out.leaving = append(out.leaving, permission.Rule)
			soonest(settlePause)
			continue
		}
		gone++
	}
	if gone > 0 && len(d.Over) > 0 {
		soonest(morePause) // there is room now
	}
	if len(d.Waiting) > 0 {
		soonest(waitingPause)
	}
	if unseen := out.unseen(d); len(unseen) > 0 {
		out.leaving = append(out.leaving, unseen...)
		soonest(settlePause)
	}
}

// unseen are the rules of ours that are unwanted and that the read did not show: not yet, or our call never came through.
func (out *outcome) unseen(d *ruleset.Decision) (rules []ec2.Rule) {
	for rule := range out.record {
		_, wanted := d.Wanted[rule]
		if _, present := d.Present[rule]; !wanted && !present && out.record.Ours(rule) {
			rules = append(rules, rule)
		}
	}
	return rules
}
