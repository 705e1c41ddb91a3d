// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ruleset

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/ec2"
)

func TestDecisionAboutASecurityGroup(t *testing.T) {
	web, cidr := rule(80, 80, "sg-lb"), rule(80, 80, "10.0.0.0/8")
	ours := func(phase Phase, ago time.Duration, rules ...ec2.Rule) Record {
		record := Record{}
		for _, r := range rules {
			record[r] = Entry{phase, noon.Add(-ago)}
		}
		return record
	}
	plain := []ec2.Permission{{Rule: web, Description: "by hand"}}
	type outcome struct{ Grants, Revokes, Waiting, Kept, Unowned []string }
	tests := map[string]struct {
		present []ec2.Permission
		wishes  Rules
		record  Record
		tags    map[string]string
		sources map[string]bool
		blocked Flow
		foreign Flow
		broken  bool // the record
		want    outcome
	}{
		"a rule that is missing is granted":              {wishes: Rules{web: {}}, want: outcome{Grants: []string{"tcp 80 from sg-lb"}}},
		"an equal rule without the label is enough":      {present: plain, wishes: Rules{web: {}}},
		"a rule without the label is never revoked":      {present: plain, record: ours(Granted, time.Hour, web)},
		"ours goes when nobody wishes for it":            {present: labelled(web, cidr), record: ours(Granted, time.Hour, web, cidr), want: outcome{Revokes: []string{"tcp 80 from 10.0.0.0/8", "tcp 80 from sg-lb"}}},
		"ours waits for a binding that may wish for it":  {present: labelled(web), record: ours(Granted, time.Hour, web), blocked: FlowOf(web), want: outcome{Waiting: []string{"tcp 80 from sg-lb"}}},
		"only that flow waits":                           {present: labelled(web, cidr), record: ours(Granted, time.Hour, web, cidr), blocked: FlowOf(cidr), want: outcome{Waiting: []string{"tcp 80 from 10.0.0.0/8"}, Revokes: []string{"tcp 80 from sg-lb"}}},
		"N-4: what we have not added stays":              {present: labelled(web), want: outcome{Unowned: []string{"tcp 80 from sg-lb"}}},
		"from our cluster's load balancer it goes":       {present: labelled(web), sources: map[string]bool{"sg-lb": true}, want: outcome{Revokes: []string{"tcp 80 from sg-lb"}}},
		"unowned rules keep ours":                        {present: labelled(web, cidr), record: ours(Granted, time.Hour, cidr), want: outcome{Unowned: []string{"tcp 80 from sg-lb"}, Kept: []string{"tcp 80 from 10.0.0.0/8"}}},
		"the tag of another cluster keeps ours":          {present: labelled(web, cidr), record: ours(Granted, time.Hour, web, cidr), tags: map[string]string{otherTag: ""}, want: outcome{Kept: []string{"tcp 80 from 10.0.0.0/8", "tcp 80 from sg-lb"}}},
		"but not from our cluster's load balancer":       {present: labelled(web), record: ours(Granted, time.Hour, web), tags: map[string]string{otherTag: ""}, sources: map[string]bool{"sg-lb": true}, want: outcome{Revokes: []string{"tcp 80 from sg-lb"}}},
		"nor what we have not added there":               {present: labelled(web), tags: map[string]string{otherTag: ""}, sources: map[string]bool{"sg-lb": true}, want: outcome{Unowned: []string{"tcp 80 from sg-lb"}}},
		"another controller's binding may wish for it":   {present: labelled(web), record: ours(Granted, time.Hour, web), foreign: FlowOf(web), want: outcome{Kept: []string{"tcp 80 from sg-lb"}}},
		"our own cluster's tag keeps nothing":            {present: labelled(web), record: ours(Granted, time.Hour, web), tags: map[string]string{clusterTag: ""}, want: outcome{Revokes: []string{"tcp 80 from sg-lb"}}},
		"a record that cannot be read keeps all":         {present: labelled(web), record: ours(Granted, time.Hour, web), broken: true, want: outcome{Unowned: []string{"tcp 80 from sg-lb"}}},
		"just revoked and still shown: granted again":    {present: labelled(web), wishes: Rules{web: {}}, record: ours(Revoked, time.Second, web), want: outcome{Grants: []string{"tcp 80 from sg-lb"}}},
		"perhaps revoked, long ago: granted again":       {present: labelled(web), wishes: Rules{web: {}}, record: ours(Revoking, time.Hour, web), want: outcome{Grants: []string{"tcp 80 from sg-lb"}}},
		"revoked long ago and there: somebody else's":    {present: labelled(web), record: ours(Revoked, ReadLag, web), want: outcome{Unowned: []string{"tcp 80 from sg-lb"}}},
		"just revoked and still shown, not wished":       {present: labelled(web), record: ours(Revoked, time.Second, web)},
		"perhaps revoked: revoked again":                 {present: labelled(web), record: ours(Revoking, time.Hour, web), want: outcome{Revokes: []string{"tcp 80 from sg-lb"}}},
		"another description with the label is labelled": {present: []ec2.Permission{{Rule: web, Description: "x=y," + Description}}, record: ours(Granted, time.Hour, web), want: outcome{Revokes: []string{"tcp 80 from sg-lb"}}},
		"a hand-made wider rule does not satisfy":        {present: []ec2.Permission{{Rule: rule(0, lastPort, "sg-lb")}}, wishes: Rules{web: {}}, want: outcome{Grants: []string{"tcp 80 from sg-lb"}}},
		"grants and revokes of a change of ports (N-11)": {present: labelled(web), wishes: Rules{rule(81, 81, "sg-lb"): {}}, record: ours(Granted, time.Hour, web), want: outcome{Grants: []string{"tcp 81 from sg-lb"}, Revokes: []string{"tcp 80 from sg-lb"}}},
		"a prefix list in the group is left alone":       {present: []ec2.Permission{{Rule: ec2.Rule{Protocol: "-1", From: -1, To: -1, Source: ec2.Source{PrefixList: "pl-1"}}}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.sources == nil {
				tc.sources = map[string]bool{}
			}
			d := Decide(Input{
				Group: ec2.SecurityGroup{ID: "sg-node", Tags: tc.tags, Ingress: tc.present}, Record: tc.record, Unreadable: tc.broken,
				Wishes: map[types.NamespacedName]Rules{keyOf("web"): tc.wishes}, Blocked: func(r ec2.Rule) bool { return FlowOf(r) == tc.blocked },
				Foreign: func(r ec2.Rule) bool { return FlowOf(r) == tc.foreign },
				Sources: tc.sources, Restricted: true, Quota: 60, Cluster: testCluster, Now: noon,
			})
			var revokes []ec2.Rule
			for _, permission := range d.Revokes {
				revokes = append(revokes, permission.Rule)
			}
			got := outcome{listOf(d.Grants), listOf(revokes), listOf(d.Waiting), listOf(d.Kept), listOf(d.Unowned)}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

func listOf(rules []ec2.Rule) []string {
	var out []string
	for _, r := range rules {
		out = append(out, r.String())
	}
	slices.Sort(out)
	return out
}

func TestGroupsOfLeftoversAreAskedFor(t *testing.T) {
	d := Decide(Input{
		Group:   ec2.SecurityGroup{ID: "sg-node", Ingress: labelled(rule(80, 80, "sg-lb"), rule(80, 80, "10.0.0.0/8"), rule(81, 81, "sg-lb"))},
		Wishes:  map[types.NamespacedName]Rules{keyOf("web"): {rule(81, 81, "sg-lb"): {}}},
		Blocked: func(ec2.Rule) bool { return false }, Quota: 60, Now: noon,
	})
	if want := []string{"sg-lb"}; !slices.Equal(d.Ask, want) {
		t.Errorf("asked for %v, want %v", d.Ask, want)
	}
}

// What is wanted and not there keeps what lets the same traffic in, and nothing else.
func TestRevocableRules(t *testing.T) {
	present := labelled(rule(80, 443, "sg-lb"), rule(80, 443, "sg-2"), rule(8080, 8080, "sg-lb"))
	var got []string
	for _, permission := range Revocable(present, Rules{rule(443, 443, "sg-lb"): {}}) {
		got = append(got, permission.String())
	}
	if want := []string{"tcp 80-443 from sg-2", "tcp 8080 from sg-lb"}; !slices.Equal(got, want) {
		t.Errorf("revocable %q, want %q", got, want)
	}
}

func TestGrantsBeyondTheQuotaAreHeldBackWithTheNumbers(t *testing.T) {
	var present []ec2.Permission
	for n := range 59 {
		present = append(present, ec2.Permission{Rule: rule(1, 1, fmt.Sprintf("10.%d.0.0/16", n))})
	}
	wishes := Rules{rule(80, 80, "sg-lb"): {}, rule(80, 80, "10.200.0.0/16"): {}, rule(80, 80, "2001:db8::/32"): {}}
	d := Decide(Input{
		Group: ec2.SecurityGroup{ID: "sg-node", Ingress: present}, Wishes: map[types.NamespacedName]Rules{keyOf("web"): wishes},
		Blocked: func(ec2.Rule) bool { return false }, Restricted: true, Quota: 60, Now: noon,
	})
	if want := []string{"tcp 80 from 10.200.0.0/16", "tcp 80 from 2001:db8::/32"}; !slices.Equal(listOf(d.Grants), want) {
		t.Errorf("granted %q, want %q", listOf(d.Grants), want)
	}
	err := d.Over[rule(80, 80, "sg-lb")]
	const want = "security group sg-node has 59 inbound rules for IPv4 and needs 2 more, and the quota is 60: tcp 80 from sg-lb is not added; " +
		"remove rules "
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// 30 rules by hand stay; of 30 of ours that a broken binding may need, 28 are needed by nobody else. There is no room for a merge.
func TestWhatIsOverTheQuotaNamesTheBindingsThatKeepRules(t *testing.T) {
	var present []ec2.Permission
	record, wishes := Record{}, Rules{rule(5000, 5000, "sg-lb"): {}}
	for n := range int32(30) {
		present = append(present, ec2.Permission{Rule: rule(1, 1, fmt.Sprintf("10.%d.0.0/16", n))})
		ours := rule(2*n+1, 2*n+1, "sg-lb")
		present = append(present, labelled(ours)...)
		record[ours] = Entry{Granted, noon.Add(-time.Hour)}
		if n < 2 {
			wishes.Insert(ours)
		}
	}
	d := Decide(Input{
		Group: ec2.SecurityGroup{ID: "sg-node", Ingress: present}, Record: record, Sources: map[string]bool{},
		Wishes:  map[types.NamespacedName]Rules{keyOf("web"): wishes},
		Blocked: func(r ec2.Rule) bool { return r.Source.Group == "sg-lb" }, Foreign: func(ec2.Rule) bool { return false },
		Blockers: func(rules []ec2.Rule) []string {
			if len(rules) != 28 {
				t.Errorf("%d rules wait, want 28", len(rules))
			}
			return []string{"till/broken"}
		},
		Restricted: true, Quota: 60, Now: noon,
	})
	if len(d.Over) != 1 || len(d.Revokes) > 0 {
		t.Errorf("over the quota %v, revokes %v", d.Over, d.Revokes)
	}
	err := d.Over[rule(5000, 5000, "sg-lb")]
	const want = "security group sg-node has 60 inbound rules for IPv4 and needs 1 more, and the quota is 60: tcp 5000 from sg-lb is not added; " +
		"28 of its rules stay only until it is known which rules these bindings need, whose status says more: till/broken; remove rules "
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// Rules that are blocked, or are another controller's to need, take room: those that can go are merged.
func TestRulesThatStayCountNearTheQuota(t *testing.T) {
	for name, stays := range map[string]func(*Input){
		"not resolved":         func(p *Input) { p.Blocked = func(r ec2.Rule) bool { return r.Source.Group == "sg-other" } },
		"another controller's": func(p *Input) { p.Foreign = func(r ec2.Rule) bool { return r.Source.Group == "sg-other" } },
	} {
		t.Run(name, func(t *testing.T) {
			nothing := func(ec2.Rule) bool { return false }
			p := Input{
				Group: ec2.SecurityGroup{ID: "sg-node"}, Record: Record{}, Sources: map[string]bool{}, Blocked: nothing, Foreign: nothing,
				Wishes:     map[types.NamespacedName]Rules{keyOf("web"): {rule(80, 80, "sg-lb"): {}, rule(443, 443, "sg-lb"): {}}},
				Restricted: true, Quota: 60, Now: noon,
			}
			for n := range int32(54) {
				r := rule(n+1, n+1, "sg-other")
				p.Group.Ingress = append(p.Group.Ingress, labelled(r)...)
				p.Record[r] = Entry{Granted, noon.Add(-time.Hour)}
			}
			stays(&p)
			if want := []string{"tcp 80-443 from sg-lb"}; !slices.Equal(listOf(Decide(p).Grants), want) {
				t.Errorf("grants %q, want %q", listOf(Decide(p).Grants), want)
			}
		})
	}
}

func TestNextRecordDropsWhatIsLongGone(t *testing.T) {
	present, gone, wanted := rule(1, 1, "sg-1"), rule(2, 2, "sg-1"), rule(3, 3, "sg-1")
	long, lately := noon.Add(-time.Hour), noon.Add(-time.Second)
	p := Input{Record: Record{
		present: {Granted, long}, gone: {Granted, long}, wanted: {Granted, long}, rule(4, 4, "sg-1"): {Granted, lately},
		rule(5, 5, "sg-1"): {Revoked, lately}, rule(6, 6, "sg-1"): {Revoked, long}, rule(7, 7, "sg-1"): {Revoking, long},
	}, Now: noon}
	d := Decision{
		Present: map[ec2.Rule]ec2.Permission{present: {Rule: present}}, Wanted: Wanted{wanted: nil}, Grants: []ec2.Rule{rule(8, 8, "sg-1")},
		Revokes: labelled(rule(9, 9, "sg-1")),
	}
	want := Record{
		present: {Granted, long}, wanted: {Granted, long}, rule(4, 4, "sg-1"): {Granted, lately}, rule(5, 5, "sg-1"): {Revoked, lately},
		rule(8, 8, "sg-1"): {Granted, noon}, rule(9, 9, "sg-1"): {Revoking, noon},
	}
	if diff := cmp.Diff(want, d.Next(p), prefixes); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}
