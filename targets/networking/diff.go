// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

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
	labelKey, labelValue = "elbv2.k8s.aws/targetGroupBinding", "shared"
	// description is what the rules that we add carry, as the incumbent's do.
	description = labelKey + "=" + labelValue

	clusterTagPrefix = "kubernetes.io/cluster/"
	// ownerTag names the cluster that the security group of a load balancer was made for.
	ownerTag = "elbv2.k8s.aws/cluster"

	// readLag is for how long reads of EC2 may show a security group as it was before a change.
	readLag = time.Minute
)

// isLabelled reads a description as the incumbent does: key=value, separated by commas.
func isLabelled(description string) bool {
	for part := range strings.SplitSeq(description, ",") {
		if key, value, _ := strings.Cut(part, "="); key == labelKey && value == labelValue {
			return true
		}
	}
	return false
}

// picture is all that decides about one security group.
type picture struct {
	group      ec2.SecurityGroup // as just read
	record     Record
	unreadable bool // the record could not be read
	wishes     map[types.NamespacedName]Rules
	blocked    func(ec2.Rule) bool // a binding that is not resolved may wish for the rule, or for one that it stands for
	foreign    func(ec2.Rule) bool // so may one that another controller works on, or that we do not see
	sources    map[string]bool     // of groups that rules name: made for our cluster; nil before they were read
	restricted bool
	quota      int
	refusals   map[ec2.Rule]refusal // of earlier passes
	cluster    string
	now        time.Time
}

// decision is what a pass does about a security group.
type decision struct {
	wanted  Wanted
	grants  []ec2.Rule         // wanted, not believed present, and within the quota
	over    map[ec2.Rule]error // wanted and not granted because of the quota
	revokes []ec2.Permission   // ours, unwanted
	waiting []ec2.Rule         // ours and unwanted, but a binding that is not resolved may wish for them
	held    []ec2.Rule         // labelled, and a binding that is not resolved may wish for them: another decision may follow
	kept    []ec2.Rule         // ours and unwanted, but another owner of the group may rely on them
	unowned []ec2.Rule         // labelled, unwanted, and not known to be ours
	ask     []string           // groups that rules name, whose tags decide about them
	present map[ec2.Rule]ec2.Permission
}

// decide compares what is present with what is wanted.
//
// A rule is granted unless an equal one is believed present, whoever made it. A rule is revoked if it has the label, nobody wishes
// for it or may wish for it, and it is ours: in our record, or from a security group that was made for our cluster.
//
// Another owner of the group is evident from the tag kubernetes.io/cluster/ of another cluster, or from a labelled rule that is
// neither wanted nor ours. It may rely on a rule that we have added first: it found an equal one and added none. Nothing on a rule
// tells. So then only rules from groups that were made for our cluster are revoked: nobody else has use for them.
func decide(p picture) decision {
	d := decision{present: map[ec2.Rule]ec2.Permission{}, over: map[ec2.Rule]error{}}
	believed, held, labelled, staying := Rules{}, Rules{}, Rules{}, Rules{}
	for _, permission := range p.group.Ingress {
		d.present[permission.Rule] = permission
		if !isLabelled(permission.Description) || !p.mayGo(permission.Rule) {
			staying.Insert(permission.Rule)
		}
		if p.record.stale(permission.Rule, p.now) {
			continue
		}
		believed.Insert(permission.Rule)
		if isLabelled(permission.Description) {
			labelled.Insert(permission.Rule)
		}
	}
	for rule := range labelled {
		if p.blocked(rule) {
			held.Insert(rule)
		}
	}
	d.held = held.UnsortedList()
	d.wanted = union(p.wishes, surroundings{
		restricted: p.restricted, quota: p.quota, labelled: labelled, held: held, staying: staying,
	})
	d.sortOut(p)
	d.grant(believed, p)
	return d
}

// mayGo reports whether the rule is known to be ours.
func (p picture) mayGo(rule ec2.Rule) bool {
	return !p.unreadable && (p.record.ours(rule) || p.sources[rule.Source.Group] && !p.hasOtherTag())
}

// sortOut says of each labelled rule that is unwanted what becomes of it.
func (d *decision) sortOut(p picture) {
	ours := d.leftovers(p)
	shared := len(d.unowned) > 0 || p.hasOtherTag()
	for _, permission := range ours {
		switch rule := permission.Rule; {
		case p.foreign(rule):
			d.kept = append(d.kept, rule)
		case p.blocked(rule):
			d.waiting = append(d.waiting, rule)
		case shared && !p.sources[rule.Source.Group]:
			d.kept = append(d.kept, rule)
		default:
			d.revokes = append(d.revokes, permission)
		}
	}
}

// leftovers are the labelled rules that are unwanted and ours; it notes the others. A rule that was just revoked is none: the read is
// old.
func (d *decision) leftovers(p picture) (ours []ec2.Permission) {
	for _, permission := range p.group.Ingress {
		rule := permission.Rule
		if _, wanted := d.wanted[rule]; wanted || !isLabelled(permission.Description) || p.record.justRevoked(rule, p.now) {
			continue
		}
		if rule.Source.Group != "" && p.sources == nil {
			d.ask = append(d.ask, rule.Source.Group)
		}
		if !p.mayGo(rule) {
			d.unowned = append(d.unowned, rule)
			continue
		}
		ours = append(ours, permission)
	}
	return ours
}

// hasOtherTag reports whether the group has the tag of another cluster.
func (p picture) hasOtherTag() bool {
	for key := range p.group.Tags {
		if name, ok := strings.CutPrefix(key, clusterTagPrefix); ok && name != p.cluster {
			return true
		}
	}
	return false
}

// grant chooses the rules to add. It counts as EC2 does, and before the call: what would not fit is not asked for, and nothing is
// revoked to make room. A rule that EC2 has refused takes no room from others.
func (d *decision) grant(believed Rules, p picture) {
	var missing []ec2.Rule
	for rule := range d.wanted {
		if !believed.Has(rule) {
			missing = append(missing, rule)
		}
	}
	slices.SortFunc(missing, func(a, b ec2.Rule) int {
		return cmp.Or(cmp.Compare(p.refusals[a].times, p.refusals[b].times), compareRules(a, b))
	})
	present, needed := tallyOf(believed), tallyOf(sets.New(missing...))
	count := present
	for _, rule := range missing {
		if p.now.Before(p.refusals[rule].retryAt) {
			d.grants = append(d.grants, rule) // and is not sent now (dropRefused)
			continue
		}
		next := count
		if next.add(rule); next.within(p.quota) {
			count = next
			d.grants = append(d.grants, rule)
			continue
		}
		d.over[rule] = overQuota(p, rule, present, needed, next.v4 > p.quota)
	}
}

func overQuota(p picture, rule ec2.Rule, present, needed tally, is4 bool) error {
	family, has, more := "IPv6", present.v6, needed.v6
	if is4 {
		family, has, more = "IPv4", present.v4, needed.v4
	}
	return fmt.Errorf("security group %s has %d inbound rules for %s and needs %d more, and the quota is %d: %s is not added; remove rules "+
		"that are not needed, or have AWS raise the quota (inbound rules per security group) and raise --security-group-rule-quota",
		p.group.ID, has, family, more, p.quota, rule)
}

// revocable are the permissions that may go while these rules are wanted and not there: not those that let the same traffic in.
func revocable(permissions []ec2.Permission, missing Rules) []ec2.Permission {
	return slices.DeleteFunc(slices.Clone(permissions), func(permission ec2.Permission) bool {
		for rule := range missing {
			if flowOf(rule) == flowOf(permission.Rule) && rule.From <= permission.To && rule.To >= permission.From {
				return true
			}
		}
		return false
	})
}

// next is the record before the calls: with what will be granted, and what will be revoked. Entries of rules that are long gone
// are dropped.
func (d *decision) next(p picture) Record {
	next := Record{}
	for rule, entry := range p.record {
		_, present := d.present[rule]
		_, wanted := d.wanted[rule]
		if recent := p.now.Sub(entry.At) < readLag; recent || entry.Phase != Revoked && (present || wanted) {
			next[rule] = entry
		}
	}
	for _, rule := range d.grants {
		next[rule] = Entry{Phase: Granted, At: p.now}
	}
	for _, permission := range d.revokes {
		next[permission.Rule] = Entry{Phase: Revoking, At: p.now}
	}
	return next
}
