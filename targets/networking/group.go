// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/targets/networking/members"
	"github.com/targetgate/targetgate/targets/networking/ruleset"
	"github.com/targetgate/targetgate/targets/retry"
)

const (
	// settlePause is after which a security group is read again whose last read did not show yet what was done.
	settlePause = 5 * time.Second
	// morePause is before the next pass where one did not do all that it could.
	morePause = time.Second
	// waitingPause is for rules that wait for bindings to be resolved, or to leave the list of all.
	waitingPause = time.Minute
	// lostPause is after which a security group is read again of which somebody else has removed rules that are wanted.
	lostPause = 30 * time.Second
	// The pauses of a rule that EC2 refuses for itself, such as for a peer that does not exist. One that the role may not add is tried
	// again within retry.MaxBackoff: that is nobody's rule's fault.
	firstRefusedPause, maxRefusedPause = 2 * time.Second, 5 * time.Minute
)

// view is what all bindings wish of one security group, at one time.
type view struct {
	wishes map[types.NamespacedName]ruleset.Rules
	// unresolved are what bindings can ask for that are not resolved, or were never handed over.
	unresolved []asker
	blocked    func(ec2.Rule) bool
	foreign    func(ec2.Rule) bool
	listed     bool   // all bindings were listed
	seq        uint64 // of the changes that it contains
}

// groupPass makes the rules of one security group what the bindings wish: it reads the group, decides, writes the record, grants,
// revokes, and writes the record again.
type groupPass struct {
	ec2     EC2
	records Records
	clock   clock.PassiveClock
	class   budget.Class
	id      string
	input   ruleset.Input // without what is read in the pass
	rewrite bool          // write the record once though it is as it was: the ConfigMap may have been made anew
	view    func(context.Context) view
	// refusals are those of earlier passes.
	refusals map[ec2.Rule]ruleset.Refusal
	last     outcome // of the pass before
}

// outcome is what a pass leaves behind.
type outcome struct {
	view     view
	record   ruleset.Record
	wanted   ruleset.Wanted
	missing  map[ec2.Rule]error // wanted and not in the group, and why
	leaving  []ec2.Rule         // ours and unwanted, and not gone yet
	waiting  []ec2.Rule         // ours and unwanted, but a binding that is not resolved may wish for them
	held     []ec2.Rule         // on which the decision depends until all bindings are resolved
	kept     []ec2.Rule
	unowned  []ec2.Rule
	refusals map[ec2.Rule]ruleset.Refusal
	again    time.Duration // when to pass again, 0 for the next drift check
	shares   map[types.NamespacedName]*share
	decided  bool       // the group was read, and bindings were listed: leaving is all that is left
	lost     []ec2.Rule // the last pass left them in the group, and somebody else has removed them: they were added again
	lostAt   time.Time  // when that was last so
	stuck    error      // EC2 removes no rules now
	err      error      // the pass did not come to its end
}

// flows are those of the rules that are ours, wanted, or stay for others.
func (out *outcome) flows() sets.Set[ruleset.Flow] {
	others := slices.Concat(out.leaving, out.waiting, out.kept)
	return ruleset.FlowsOf(maps.Keys(out.record)).Union(ruleset.FlowsOf(maps.Keys(out.wanted))).Union(ruleset.FlowsOf(slices.Values(others)))
}

// run makes the pass.
func (p *groupPass) run(ctx context.Context) outcome {
	out := outcome{
		view: p.view(ctx), record: p.input.Record, missing: map[ec2.Rule]error{}, refusals: map[ec2.Rule]ruleset.Refusal{}, lostAt: p.last.lostAt,
	}
	d, err := p.decide(ctx, out.view)
	if err != nil {
		out.err = err
		p.failAll(&out, err)
		return out
	}
	out.wanted, out.waiting, out.held, out.kept, out.unowned, out.decided = d.Wanted, d.Waiting, d.Held, d.Kept, d.Unowned, out.view.listed
	p.dropRefused(&d, &out)
	maps.Copy(out.missing, d.Over)
	if out.err = p.save(ctx, &out, d.Next(p.input)); out.err != nil {
		for _, rule := range d.Grants {
			out.missing[rule] = unwritten(out.err)
		}
		p.schedule(&d, &out, &sender{}, nil)
		return out
	}
	before := p.input.Record
	granted := p.grant(ctx, &d, &out)
	p.noteLost(granted, &out)
	var revoked *sender
	if out.err == nil {
		revoked = p.revoke(ctx, &d, &out)
	}
	next := ruleset.Record{}
	maps.Copy(next, out.record)
	settleGrants(next, before, d.Grants, granted, p.clock.Now())
	settleRevokes(next, before, d.Revokes, revoked, p.clock.Now())
	out.err = errors.Join(out.err, p.save(ctx, &out, next))
	p.schedule(&d, &out, granted, revoked)
	return out
}

// unwritten is why rules are not added whose record could not be written: for good, where the API server refuses it.
func unwritten(err error) error {
	if isRefused(err) {
		return err
	}
	return members.Passing(err)
}

// isRefused reports whether the API server will refuse a record again until somebody changes something.
func isRefused(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// failAll says of every wished rule that it is not known to be there.
func (p *groupPass) failAll(out *outcome, err error) {
	out.wanted = ruleset.Wanted{}
	for key, rules := range out.view.wishes {
		for rule := range rules {
			out.wanted.Add(rule, sets.New(key))
			out.missing[rule] = err
		}
	}
}

// errNoGroup says that EC2 does not know the security group.
var errNoGroup = errors.New("EC2 knows no such security group")

// decide reads the group, and the groups that decide about leftovers, and decides.
func (p *groupPass) decide(ctx context.Context, v view) (ruleset.Decision, error) {
	groups, err := p.ec2.SecurityGroups(ctx, p.class, []string{p.id})
	if err != nil {
		return ruleset.Decision{}, members.FailedRead("security group "+p.id, err)
	}
	at := slices.IndexFunc(groups, func(g ec2.SecurityGroup) bool { return g.ID == p.id })
	if at < 0 {
		return ruleset.Decision{}, fmt.Errorf("security group %s: %w", p.id, errNoGroup)
	}
	p.input.Group, p.input.Now = groups[at], p.clock.Now()
	d := p.decideFor(v)
	if len(d.Ask) == 0 {
		return d, nil
	}
	slices.Sort(d.Ask)
	found, err := p.ec2.SecurityGroups(ctx, p.class, slices.Compact(d.Ask))
	if err != nil {
		return ruleset.Decision{}, members.FailedRead("the security groups that rules name", err)
	}
	p.input.Sources = map[string]bool{}
	for _, source := range found {
		p.input.Sources[source.ID] = source.Tags[ruleset.OwnerTag] == p.input.Cluster
	}
	return p.decideFor(v), nil
}

func (p *groupPass) decideFor(v view) ruleset.Decision {
	p.input.Wishes, p.input.Blocked, p.input.Blockers, p.input.Foreign = v.wishes, v.blocked, v.blockers, v.foreign
	return ruleset.Decide(p.input)
}

// dropRefused takes out of the grants what EC2 has refused lately.
func (p *groupPass) dropRefused(d *ruleset.Decision, out *outcome) {
	d.Grants = slices.DeleteFunc(d.Grants, func(rule ec2.Rule) bool {
		known, ok := p.refusals[rule]
		if !ok || !p.input.Now.Before(known.RetryAt) {
			return false
		}
		out.missing[rule], out.refusals[rule] = known.Err, known
		return true
	})
}

// save writes the record if it has changed, or is to be written once more. The record of a group that could not be read stays as it is, for
// people to look at.
func (p *groupPass) save(ctx context.Context, out *outcome, next ruleset.Record) error {
	if p.input.Unreadable || maps.Equal(next, out.record) && (!p.rewrite || len(next) == 0) {
		return nil
	}
	p.rewrite = false
	if err := p.records.Save(ctx, p.id, next); err != nil {
		return fmt.Errorf("writing the record of our rules of security group %s: %w", p.id, err)
	}
	out.record = next
	return nil
}

// grant adds the missing rules. That EC2 holds a rule already is success.
func (p *groupPass) grant(ctx context.Context, d *ruleset.Decision, out *outcome) *sender {
	var rules []ec2.Permission
	for _, rule := range d.Grants {
		rules = append(rules, ec2.Permission{Rule: rule, Description: ruleset.Description})
	}
	sent := send(ctx, rules, func(ctx context.Context, rules []ec2.Permission) error {
		return p.ec2.Authorize(ctx, p.class, p.id, rules)
	})
	sent.log(ctx, "Added security group rules", p.id)
	for _, rule := range d.Grants {
		switch err := sent.results[rule]; {
		case err == nil:
			rulesTotal.WithLabelValues("granted").Inc()
		case ec2.IsDuplicate(err):
		case errors.Is(err, errNotTried) || sent.stop != nil && !awserr.IsPermission(err):
			out.missing[rule] = members.Passing(err)
		default:
			rulesTotal.WithLabelValues("refused").Inc()
			out.missing[rule] = p.refusedText(rule, err)
			out.refusals[rule] = p.refuse(rule, out.missing[rule], awserr.IsPermission(err))
		}
	}
	if sent.stop != nil {
		out.err = fmt.Errorf("adding rules to security group %s: %w", p.id, sent.stop)
	}
	return sent
}

func (p *groupPass) refusedText(rule ec2.Rule, err error) error {
	text := fmt.Sprintf("EC2 does not add %s to security group %s: %s", rule, p.id, awserr.Message(err))
	if ec2.IsRuleLimit(err) {
		text += fmt.Sprintf(" (it was last seen with %d inbound rules; AWS's quota is below --security-group-rule-quota=%d)",
			len(p.input.Group.Ingress), p.input.Quota)
	}
	return errors.New(text)
}

func (p *groupPass) refuse(rule ec2.Rule, err error, forbidden bool) ruleset.Refusal {
	times, longest := p.refusals[rule].Times, maxRefusedPause
	if forbidden {
		longest = retry.MaxBackoff
	}
	pause := retry.Jitter(retry.Backoff(firstRefusedPause, times, longest))
	return ruleset.Refusal{Err: err, Times: times + 1, RetryAt: p.clock.Now().Add(pause)}
}

// revoke removes what is still unwanted after the grants: a binding may have come to wish for it meanwhile. That EC2 does not hold a
// rule any more is success.
func (p *groupPass) revoke(ctx context.Context, d *ruleset.Decision, out *outcome) *sender {
	if len(d.Revokes) == 0 {
		return nil
	}
	now := p.decideFor(p.view(ctx))
	still := ruleset.Rules{}
	for _, permission := range now.Revokes {
		still.Insert(permission.Rule)
	}
	missing := sets.KeySet(out.missing).Union(sets.KeySet(now.Over))
	for _, rule := range now.Grants {
		if !slices.Contains(d.Grants, rule) {
			missing.Insert(rule)
		}
	}
	rules := slices.DeleteFunc(ruleset.Revocable(d.Revokes, missing), func(permission ec2.Permission) bool {
		return !still.Has(permission.Rule)
	})
	sent := send(ctx, rules, func(ctx context.Context, rules []ec2.Permission) error {
		return p.ec2.Revoke(ctx, p.class, p.id, rules)
	})
	sent.log(ctx, "Removed security group rules", p.id)
	for _, permission := range rules {
		if err := sent.results[permission.Rule]; err == nil || ec2.IsRuleNotFound(err) {
			rulesTotal.WithLabelValues("revoked").Inc()
		}
	}
	if sent.stop != nil {
		out.stuck = fmt.Errorf("removing rules from security group %s: %w", p.id, sent.stop)
		out.err = out.stuck
	}
	return sent
}
