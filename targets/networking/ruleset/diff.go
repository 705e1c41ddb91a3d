// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ruleset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/targetgate/targetgate/aws/ec2"
)

const (
	// Description is what the rules that we add carry, as the incumbent's do.
	Description = ec2.BindingLabel

	clusterTagPrefix = "kubernetes.io/cluster/"
	// OwnerTag names the cluster that the security group of a load balancer was made for.
	OwnerTag = "elbv2.k8s.aws/cluster"

	// ReadLag is for how long reads of EC2 may show a security group as it was before a change.
	ReadLag = time.Minute
)

// Input is all that decides about one security group.
type Input struct {
	Group      ec2.SecurityGroup // as just read
	Record     Record
	Unreadable bool // the record could not be read
	Wishes     map[types.NamespacedName]Rules
	Blocked    func(ec2.Rule) bool       // a binding that is not resolved may wish for the rule, or for one that it stands for
	Blockers   func([]ec2.Rule) []string // names of bindings for which one of the rules is blocked
	Foreign    func(ec2.Rule) bool       // one that another controller works on, or that we do not see, may wish for the rule
	Sources    map[string]bool           // of groups that rules name: made for our cluster; nil before they were read
	Restricted bool
	Quota      int
	Refusals   map[ec2.Rule]Refusal // of earlier passes
	Cluster    string
	Now        time.Time
}

// Refusal is of a rule that EC2 refuses.
type Refusal struct {
	Err     error
	Times   int
	RetryAt time.Time
}

// Decision is what a pass does about a security group.
type Decision struct {
	Wanted  Wanted
	Grants  []ec2.Rule         // wanted, not believed present, and within the quota
	Over    map[ec2.Rule]error // wanted and not granted because of the quota
	Revokes []ec2.Permission   // ours, unwanted
	Waiting []ec2.Rule         // ours and unwanted, but a binding that is not resolved may wish for them
	Held    []ec2.Rule         // labelled, and a binding that is not resolved may wish for them: another decision may follow
	Kept    []ec2.Rule         // ours and unwanted, but another owner of the group may rely on them
	Unowned []ec2.Rule         // labelled, unwanted, and not known to be ours
	Ask     []string           // groups that rules name, whose tags decide about them
	Present map[ec2.Rule]ec2.Permission
}

// Decide compares what is present with what is wanted.
//
// A rule is granted unless an equal one is believed present, whoever made it. A rule is revoked if it has the label, nobody wishes
// for it or may wish for it, and it is ours: in our record, or from a security group that was made for our cluster.
//
// Another owner of the group is evident from the tag kubernetes.io/cluster/ of another cluster, or from a labelled rule that is
// neither wanted nor ours. It may rely on a rule that we have added first: it found an equal one and added none. Nothing on a rule
// tells. So then only rules from groups that were made for our cluster are revoked: nobody else has use for them.
func Decide(p Input) Decision {
	d := Decision{Present: map[ec2.Rule]ec2.Permission{}, Over: map[ec2.Rule]error{}}
	believed, held, labelled, staying := Rules{}, Rules{}, Rules{}, Rules{}
	for _, permission := range p.Group.Ingress {
		rule := permission.Rule
		d.Present[rule] = permission
		hasLabel := permission.IsOfBindings()
		blocked := hasLabel && p.Blocked(rule)
		if blocked || !hasLabel || !p.mayGo(rule) || p.Foreign(rule) {
			staying.Insert(rule)
		}
		if p.Record.stale(rule, p.Now) {
			continue
		}
		believed.Insert(rule)
		if hasLabel {
			labelled.Insert(rule)
		}
		if blocked {
			held.Insert(rule)
		}
	}
	d.Held = held.UnsortedList()
	d.Wanted = union(p.Wishes, surroundings{
		restricted: p.Restricted, quota: p.Quota, labelled: labelled, held: held, staying: staying,
	})
	d.sortOut(p)
	d.grant(believed, p)
	return d
}

// mayGo reports whether the rule is known to be ours.
func (p Input) mayGo(rule ec2.Rule) bool {
	return !p.Unreadable && (p.Record.Ours(rule) || p.Sources[rule.Source.Group] && !p.hasOtherTag())
}

// sortOut says of each labelled rule that is unwanted what becomes of it.
func (d *Decision) sortOut(p Input) {
	ours := d.leftovers(p)
	shared := len(d.Unowned) > 0 || p.hasOtherTag()
	for _, permission := range ours {
		switch rule := permission.Rule; {
		case p.Foreign(rule):
			d.Kept = append(d.Kept, rule)
		case p.Blocked(rule):
			d.Waiting = append(d.Waiting, rule)
		case shared && !p.Sources[rule.Source.Group]:
			d.Kept = append(d.Kept, rule)
		default:
			d.Revokes = append(d.Revokes, permission)
		}
	}
}

// leftovers are the labelled rules that are unwanted and ours; it notes the others. A rule that was just revoked is none: the read is
// old.
func (d *Decision) leftovers(p Input) (ours []ec2.Permission) {
	for _, permission := range p.Group.Ingress {
		rule := permission.Rule
		if _, wanted := d.Wanted[rule]; wanted || !permission.IsOfBindings() || p.Record.justRevoked(rule, p.Now) {
			continue
		}
		if rule.Source.Group != "" && p.Sources == nil {
			d.Ask = append(d.Ask, rule.Source.Group)
		}
		if !p.mayGo(rule) {
			d.Unowned = append(d.Unowned, rule)
			continue
		}
		ours = append(ours, permission)
	}
	return ours
}

// hasOtherTag reports whether the group has the tag of another cluster.
func (p Input) hasOtherTag() bool {
	for key := range p.Group.Tags {
		if name, ok := strings.CutPrefix(key, clusterTagPrefix); ok && name != p.Cluster {
			return true
		}
	}
	return false
}

// grant chooses the rules to add. It counts as EC2 does, and before the call: what would not fit is not asked for, and nothing is
// revoked to make room. A rule that EC2 has refused takes no room from others.
func (d *Decision) grant(believed Rules, p Input) {
	var missing []ec2.Rule
	for rule := range d.Wanted {
		if !believed.Has(rule) {
			missing = append(missing, rule)
		}
	}
	slices.SortFunc(missing, func(a, b ec2.Rule) int {
		return cmp.Or(cmp.Compare(p.Refusals[a].Times, p.Refusals[b].Times), compareRules(a, b))
	})
	present, needed := tallyOf(believed), tallyOf(sets.New(missing...))
	count, waiting := present, ""
	for _, rule := range missing {
		if p.Now.Before(p.Refusals[rule].RetryAt) {
			d.Grants = append(d.Grants, rule) // and is not sent now (dropRefused)
			continue
		}
		next := count
		if next.add(rule); next.within(p.Quota) {
			count = next
			d.Grants = append(d.Grants, rule)
			continue
		}
		if len(d.Over) == 0 {
			waiting = d.waitingText(p)
		}
		d.Over[rule] = overQuota(p, rule, present, needed, next.v4 > p.Quota, waiting)
	}
}

// waitingText says which bindings keep rules in the group that may not be needed, empty when none does.
func (d *Decision) waitingText(p Input) string {
	if len(d.Waiting) == 0 {
		return ""
	}
	blockers := p.Blockers(d.Waiting)
	if len(blockers) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of its rules stay only until it is known which rules these bindings need, whose status says more: %s; ",
		len(d.Waiting), strings.Join(blockers, ", "))
}

func overQuota(p Input, rule ec2.Rule, present, needed tally, is4 bool, waiting string) error {
	family, has, more := "IPv6", present.v6, needed.v6
	if is4 {
		family, has, more = "IPv4", present.v4, needed.v4
	}
	return fmt.Errorf("security group %s has %d inbound rules for %s and needs %d more, and the quota is %d: %s is not added; %sremove rules "+
		"that are not needed, or have AWS raise the quota (inbound rules per security group) and raise --security-group-rule-quota",
		p.Group.ID, has, family, more, p.Quota, rule, waiting)
}

// Revocable are the permissions that may go while these rules are wanted and not there: not those that let the same traffic in.
func Revocable(permissions []ec2.Permission, missing Rules) []ec2.Permission {
	return slices.DeleteFunc(slices.Clone(permissions), func(permission ec2.Permission) bool {
		for rule := range missing {
			if FlowOf(rule) == FlowOf(permission.Rule) && rule.From <= permission.To && rule.To >= permission.From {
				return true
			}
		}
		return false
	})
}

// Next is the record before the calls: with what will be granted, and what will be revoked. Entries of rules that are long gone
// are dropped.
func (d *Decision) Next(p Input) Record {
	next := Record{}
	for rule, entry := range p.Record {
		_, present := d.Present[rule]
		_, wanted := d.Wanted[rule]
		if recent := p.Now.Sub(entry.At) < ReadLag; recent || entry.Phase != Revoked && (present || wanted) {
			next[rule] = entry
		}
	}
	for _, rule := range d.Grants {
		next[rule] = Entry{Phase: Granted, At: p.Now}
	}
	for _, permission := range d.Revokes {
		next[permission.Rule] = Entry{Phase: Revoking, At: p.Now}
	}
	return next
}
