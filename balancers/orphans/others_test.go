// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package orphans

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/parts"
	"github.com/targetgate/targetgate/balancers/stack"
)

// Whoever writes a group's tags on something of theirs, none of it is changed or deleted for the group beside what is its own, whatever the
// order in which AWS lists both.
func TestWhatOthersTagIntoAGroupIsLeftAlone(t *testing.T) {
	group := stack.Group{Namespace: "shop", Name: "web"}
	shared := func(id, name string) stack.SecurityGroup {
		return stack.SecurityGroup{ID: id, Name: name, Shared: true}
	}
	named := stack.BackendSecurityGroupName("prod")
	own := stack.LoadBalancer{Name: input.LoadBalancerName("prod", group, "internal"), SecurityGroups: []stack.Ref{{ID: "sg-has"}, {ID: "sg-had"}}}
	for name, tc := range map[string]struct {
		balancers []stack.LoadBalancer
		groups    []stack.TargetGroup
		security  []stack.SecurityGroup
		members   Members
		serves    string // the name of the load balancer that serves members
		want      string // names and IDs of what stays, in order
		left      int
	}{
		"its own and theirs":              {balancers: []stack.LoadBalancer{{Name: "theirs"}, own}, want: own.Name, left: 1},
		"theirs named as another group's": {balancers: []stack.LoadBalancer{{Name: input.LoadBalancerName("prod", stack.Group{Name: "x"}, "internal")}, own}, want: own.Name, left: 1},
		"a given name and theirs":         {balancers: []stack.LoadBalancer{{Name: "theirs"}, {Name: "mine"}}, members: Members{Given: []string{"mine"}}, want: "mine", left: 1},
		"a former name that serves":       {balancers: []stack.LoadBalancer{{Name: "former"}, own, {Name: "theirs"}}, serves: "former", want: "former " + own.Name, left: 1},
		"one that is taken over":          {balancers: []stack.LoadBalancer{{Name: "former"}}, want: "former"},
		"theirs when all goes":            {balancers: []stack.LoadBalancer{{Name: "theirs"}}, members: Members{Leave: true}, left: 1},
		"what serves when all goes":       {balancers: []stack.LoadBalancer{{Name: "former"}}, serves: "former", members: Members{Leave: true}, want: "former"},
		"in front of another name":        {balancers: []stack.LoadBalancer{{Name: "mine-nlb", Network: true}, {Name: "mine-nlb2", Network: true}}, members: Members{Given: []string{"mine"}}, want: "mine-nlb", left: 1},
		"target groups": {
			groups: []stack.TargetGroup{{Name: "theirs"}, {Name: "k8s-shop-web-0123456789"}, {Name: "k8s-shop-web"}}, want: "k8s-shop-web-0123456789", left: 2,
		},
		"security groups": {
			security: []stack.SecurityGroup{{ID: "sg-1", Name: "theirs"}, {ID: "sg-2", Description: stack.ManagedDescription}, {ID: "sg-3", Name: parts.SecurityGroupName("prod", group)}},
			want:     "sg-3 sg-2", left: 1,
		},
		"a security group that it has": {
			balancers: []stack.LoadBalancer{own}, security: []stack.SecurityGroup{{ID: "sg-1", Name: parts.SecurityGroupName("prod", group)}, {ID: "sg-has", Name: "x"}},
			want: own.Name + " sg-has sg-1",
		},
		"two that are shared":               {security: []stack.SecurityGroup{shared("sg-1", "theirs"), shared("sg-2", named)}, want: "sg-2 sg-1", left: 1},
		"two that are shared, one attached": {balancers: []stack.LoadBalancer{own}, security: []stack.SecurityGroup{shared("sg-1", named), shared("sg-has", "older")}, want: own.Name + " sg-has sg-1", left: 1},
		"two that are shared, both attached": {
			balancers: []stack.LoadBalancer{own}, security: []stack.SecurityGroup{shared("sg-had", "older"), shared("sg-has", named)}, want: own.Name + " sg-has sg-had", left: 1,
		},
		"one that is shared": {security: []stack.SecurityGroup{shared("sg-1", "older")}, want: "sg-1"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, reversed := range []bool{false, true} {
				seen := stack.Stack{LoadBalancers: slices.Clone(tc.balancers), TargetGroups: slices.Clone(tc.groups), SecurityGroups: slices.Clone(tc.security)}
				if reversed {
					slices.Reverse(seen.SecurityGroups)
				}
				tc.members.Serve = func(b *stack.LoadBalancer) bool { return b.Name == tc.serves }
				left := LeaveOthers("prod", group, &seen, tc.members)
				var got []string
				for _, b := range seen.LoadBalancers {
					got = append(got, b.Name)
				}
				for _, g := range seen.TargetGroups {
					got = append(got, g.Name)
				}
				for _, g := range seen.SecurityGroups {
					got = append(got, g.ID)
				}
				if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" || len(left) != tc.left {
					t.Errorf("reversed %v: left %q, stays (-want +got):\n%s", reversed, left, diff)
				}
			}
		})
	}
}
