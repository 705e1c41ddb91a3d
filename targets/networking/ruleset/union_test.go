// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ruleset

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/targets/fixture"
)

func TestUnionOfWishes(t *testing.T) {
	many := Rules{}
	for n := range int32(60) {
		many.Insert(rule(n, n, fmt.Sprintf("10.%d.0.0/16", n)))
	}
	wide, narrow := rule(80, 30000, "sg-1"), rule(80, 80, "sg-1")
	odd := func(from, to int32) Rules {
		rules := Rules{}
		for n := from; n <= to; n++ {
			rules.Insert(rule(2*n+1, 2*n+1, "sg-1"))
		}
		return rules
	}
	tests := map[string]struct {
		wishes       []Rules // of bindings
		unrestricted bool
		labelled     Rules
		staying      Rules
		held         Rules
		want         []string
	}{
		"no binding":                               {},
		"N-8: exact ports while they fit":          {wishes: []Rules{{narrow: {}}, {rule(30000, 30000, "sg-1"): {}}}, want: []string{"tcp 30000 from sg-1", "tcp 80 from sg-1"}},
		"N-8: merged near the quota":               {wishes: []Rules{{narrow: {}}, {rule(30000, 30000, "sg-1"): {}}}, staying: many, want: []string{"tcp 80-30000 from sg-1"}},
		"N-8: unrestricted is exact, even then":    {wishes: []Rules{{narrow: {}, rule(30000, 30000, "sg-1"): {}}}, unrestricted: true, staying: many, want: []string{"tcp 30000 from sg-1", "tcp 80 from sg-1"}},
		"today's merge that is present stays":      {wishes: []Rules{{narrow: {}}, {rule(30000, 30000, "sg-1"): {}}}, labelled: Rules{wide: {}}, want: []string{"tcp 80-30000 from sg-1"}},
		"yesterday's merge does not stay":          {wishes: []Rules{{narrow: {}}, {rule(443, 443, "sg-1"): {}}}, labelled: Rules{wide: {}}, want: []string{"tcp 443 from sg-1", "tcp 80 from sg-1"}},
		"a rule that is held covers a wish":        {wishes: []Rules{{narrow: {}}}, labelled: Rules{wide: {}}, held: Rules{wide: {}}, want: []string{"tcp 80-30000 from sg-1"}},
		"a rule that is held covers several":       {wishes: []Rules{{narrow: {}, rule(443, 443, "sg-1"): {}}}, labelled: Rules{wide: {}}, held: Rules{wide: {}}, want: []string{"tcp 80-30000 from sg-1"}},
		"a rule that is not held covers none":      {wishes: []Rules{{narrow: {}}}, labelled: Rules{wide: {}, rule(443, 443, "sg-1"): {}}, held: Rules{rule(443, 443, "sg-1"): {}}, want: []string{"tcp 80 from sg-1"}},
		"one of another flow that is held neither": {wishes: []Rules{{narrow: {}}}, labelled: Rules{rule(80, 30000, "sg-2"): {}}, held: Rules{rule(80, 30000, "sg-2"): {}}, want: []string{"tcp 80 from sg-1"}},
		"held, and merged near the quota":          {wishes: []Rules{odd(1, 58)}, labelled: odd(900, 900), held: odd(900, 900), want: []string{"tcp 3-117 from sg-1"}},
		"held, present, and one more wish":         {wishes: []Rules{odd(1, 56)}, labelled: odd(1, 55), held: odd(1, 55), want: []string{"tcp 3-113 from sg-1"}},
		"held, and within the merge afterwards":    {wishes: []Rules{odd(1, 58)}, labelled: odd(1, 55).Union(Rules{rule(3, 117, "sg-1"): {}}), held: odd(1, 55), want: []string{"tcp 3-117 from sg-1"}},
		"held, and beyond the merge afterwards":    {wishes: []Rules{odd(1, 2)}, labelled: Rules{rule(1, 3, "sg-1"): {}}, held: Rules{rule(1, 3, "sg-1"): {}}, want: []string{"tcp 1-3 from sg-1", "tcp 5 from sg-1"}},
		"held, and all wishes are satisfied":       {wishes: []Rules{odd(1, 2)}, labelled: odd(1, 57), held: odd(1, 57), want: []string{"tcp 3 from sg-1", "tcp 5 from sg-1"}},
		"held, and no room for the merge either":   {wishes: []Rules{odd(1, 2)}, labelled: odd(1, 1), held: odd(1, 1), staying: many, want: []string{"tcp 3 from sg-1", "tcp 5 from sg-1"}},
		"ports unset and one port":                 {wishes: []Rules{{rule(0, lastPort, "sg-1"): {}}, {narrow: {}}}, want: []string{"tcp 0-65535 from sg-1"}},
		"port 0 counts as all":                     {wishes: []Rules{{rule(0, 0, "sg-1"): {}}, {narrow: {}}}, want: []string{"tcp 0-65535 from sg-1"}},
		"several protocols":                        {wishes: []Rules{{narrow: {}, {Protocol: "udp", From: 53, To: 53, Source: narrow.Source}: {}}}, want: []string{"tcp 80 from sg-1", "udp 53 from sg-1"}},
		"several groups":                           {wishes: []Rules{{narrow: {}, rule(443, 443, "sg-2"): {}}}, want: []string{"tcp 443 from sg-2", "tcp 80 from sg-1"}},
		"CIDRs are as they were asked for":         {wishes: []Rules{{rule(80, 80, "10.0.0.0/8"): {}, rule(443, 443, "10.0.0.0/8"): {}}}, staying: many, want: []string{"tcp 443 from 10.0.0.0/8", "tcp 80 from 10.0.0.0/8"}},
		"a group and CIDRs":                        {wishes: []Rules{{narrow: {}, rule(80, 80, "10.0.0.0/8"): {}}}, want: []string{"tcp 80 from 10.0.0.0/8", "tcp 80 from sg-1"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			wishes := map[types.NamespacedName]Rules{}
			for n, rules := range tc.wishes {
				wishes[keyOf(fmt.Sprint(n))] = rules
			}
			got := union(wishes, surroundings{
				restricted: !tc.unrestricted, quota: 60, labelled: tc.labelled, staying: tc.staying.Union(tc.held), held: tc.held,
			})
			if diff := cmp.Diff(tc.want, texts(got.rules())); diff != "" {
				t.Errorf("wanted (-want +got):\n%s", diff)
			}
			for rule, bindings := range got {
				if bindings.Len() == 0 {
					t.Errorf("nobody needs %s", rule)
				}
			}
		})
	}
}

// The flow that saves most is merged first, and only as many as must be.
func TestUnionMergesNoMoreThanItMust(t *testing.T) {
	wishes := Rules{rule(1, 1, "sg-few"): {}, rule(3, 3, "sg-few"): {}}
	for n := range int32(54) {
		wishes.Insert(rule(2*n, 2*n, "sg-many"))
	}
	delete(wishes, rule(0, 0, "sg-many"))
	got := union(map[types.NamespacedName]Rules{keyOf("web"): wishes}, surroundings{
		restricted: true, quota: 55,
	})
	want := []string{"tcp 1 from sg-few", "tcp 2-106 from sg-many", "tcp 3 from sg-few"}
	if diff := cmp.Diff(want, texts(got.rules())); diff != "" {
		t.Errorf("wanted (-want +got):\n%s", diff)
	}
}

func TestRulesAreCountedByFamily(t *testing.T) {
	count := tallyOf(Rules{
		rule(1, 1, "sg-1"): {}, rule(1, 1, "10.0.0.0/8"): {}, rule(2, 2, "10.0.0.0/8"): {}, rule(1, 1, "2001:db8::/32"): {},
		{Protocol: "tcp", Source: ec2.Source{PrefixList: "pl-1"}}: {},
	})
	if want := (tally{v4: 4, v6: 3}); count != want {
		t.Errorf("%+v, want %+v", count, want)
	}
}

// Near the quota, where every flow is merged, the work grows with the number of flows, up to 1,280 of them here.
func TestUnionGrowsWithTheNumberOfFlows(t *testing.T) {
	fixture.Linear(t, func(times int) {
		wishes := Rules{}
		for n := range 10 * times {
			wishes.Insert(rule(80, 80, fmt.Sprintf("sg-%d", n)), rule(443, 443, fmt.Sprintf("sg-%d", n)))
		}
		got := union(map[types.NamespacedName]Rules{keyOf("web"): wishes}, surroundings{restricted: true, quota: 60})
		if want := 10 * times; times > 6 && len(got) != want {
			t.Errorf("%d rules, want %d", len(got), want)
		}
	})
}
