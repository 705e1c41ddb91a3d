// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2_test

import (
	"fmt"
	"maps"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/aws/ec2/fake"
)

// everyRule has a rule of each sort, and several of the same protocol and ports.
func everyRule() []ec2.Permission {
	all := []ec2.Permission{
		{Rule: ec2.Rule{Protocol: "-1", From: -1, To: -1, Source: ec2.Source{Group: testGroup}}},
		{Rule: ec2.Rule{Protocol: "-1", From: -1, To: -1, Source: cidr("0.0.0.0/0")}, Description: "all"},
		{Rule: ec2.Rule{Protocol: "tcp", From: 0, To: 65535, Source: ec2.Source{Group: "sg-lb"}}},
		{Rule: ec2.Rule{Protocol: "icmp", From: 8, To: -1, Source: cidr("10.0.0.0/8")}},
		{Rule: ec2.Rule{Protocol: "icmpv6", From: -1, To: -1, Source: cidr("::/0")}},
		{Rule: ec2.Rule{Protocol: "50", From: -1, To: -1, Source: cidr("10.0.0.0/8")}},
	}
	for _, source := range []ec2.Source{
		cidr("10.0.0.0/8"), cidr("10.0.0.1/32"), cidr("2001:db8::/64"), {Group: "sg-lb"}, {Group: testGroup}, {PrefixList: "pl-1"},
	} {
		rule := tcp(80, source)
		rule.Description = fmt.Sprint("elbv2.k8s.aws/targetGroupBinding=shared from ", source)
		all = append(all, rule, tcp(443, source))
	}
	return all
}

func withRules(rules []ec2.Permission) *fake.API {
	api := &fake.API{}
	api.AddGroup(ec2.SecurityGroup{ID: "sg-lb", VPC: "vpc-1"})
	api.AddGroup(ec2.SecurityGroup{ID: testGroup, VPC: "vpc-1", Tags: map[string]string{"a": "b"}, Ingress: rules})
	return api
}

func readRules(t *testing.T, api ec2.API) map[ec2.Rule]string {
	t.Helper()
	groups, err := clientOver(api).SecurityGroups(t.Context(), budget.ClassOther, []string{testGroup})
	if err != nil || len(groups) != 1 {
		t.Fatalf("%d groups, error %v", len(groups), err)
	}
	return byRule(groups[0].Ingress)
}

func byRule(rules []ec2.Permission) map[ec2.Rule]string {
	out := map[ec2.Rule]string{}
	for _, rule := range rules {
		out[rule.Rule] = rule.Description
	}
	return out
}

func TestSecurityGroupsAreDescribed(t *testing.T) {
	groups, err := clientOver(withRules(everyRule())).SecurityGroups(t.Context(), budget.ClassOther, []string{testGroup})
	if err != nil || len(groups) != 1 {
		t.Fatalf("%d groups, error %v", len(groups), err)
	}
	if g := groups[0]; g.ID != testGroup || g.VPC != "vpc-1" || !maps.Equal(g.Tags, map[string]string{"a": "b"}) || len(g.Ingress) != len(everyRule()) {
		t.Errorf("group %s of %s with tags %v and %d rules", g.ID, g.VPC, g.Tags, len(g.Ingress))
	}
	if want, got := byRule(everyRule()), byRule(groups[0].Ingress); !maps.Equal(want, got) {
		t.Errorf("rules %v, want %v", got, want)
	}
}

// Rules that are read are the ones that EC2 knows: each of them is a duplicate, can be removed, and added again as it was.
func TestRulesAreTheSameWhenReadAndWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // more calls than the budget has at once
		api := withRules(everyRule())
		want := readRules(t, api)
		client := clientOver(api)
		for rule, description := range want {
			assertSameRule(t, client, ec2.Permission{Rule: rule, Description: description})
		}
		if got := readRules(t, api); !maps.Equal(want, got) {
			t.Errorf("rules %v, want as before: %v", got, want)
		}
	})
}

func assertSameRule(t *testing.T, client *ec2.Client, rule ec2.Permission) {
	t.Helper()
	as := []ec2.Permission{rule}
	otherwise := []ec2.Permission{{Rule: rule.Rule, Description: "another one"}}
	if err := client.Authorize(t.Context(), budget.ClassOther, testGroup, as); !ec2.IsDuplicate(err) {
		t.Errorf("adding %s: error %v, want a duplicate", rule, err)
	}
	if err := client.Revoke(t.Context(), budget.ClassOther, testGroup, otherwise); err != nil {
		t.Errorf("removing %s: %v", rule, err)
	}
	if err := client.Revoke(t.Context(), budget.ClassOther, testGroup, as); !ec2.IsRuleNotFound(err) {
		t.Errorf("removing %s again: error %v, want that it is not there", rule, err)
	}
	if err := client.Authorize(t.Context(), budget.ClassOther, testGroup, as); err != nil {
		t.Errorf("adding %s again: %v", rule, err)
	}
}

func TestChangesAreOneCall(t *testing.T) {
	api := withRules(nil)
	client := clientOver(api)
	if err := client.Authorize(t.Context(), budget.ClassOther, testGroup, everyRule()); err != nil {
		t.Fatal(err)
	}
	if want, got := byRule(everyRule()), readRules(t, api); !maps.Equal(want, got) {
		t.Errorf("rules %v, want %v", got, want)
	}
	if err := client.Revoke(t.Context(), budget.ClassOther, testGroup, everyRule()); err != nil {
		t.Fatal(err)
	}
	if got := readRules(t, api); len(got) != 0 {
		t.Errorf("rules %v, want none", got)
	}
	for _, operation := range []string{"AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress"} {
		if calls := api.Calls(operation); len(calls) != 1 || len(calls[0].Rules) != len(everyRule()) {
			t.Errorf("%s: calls %v, want one with all rules", operation, calls)
		}
	}
}

func TestErrorsOfChangesAreToldApart(t *testing.T) {
	type kinds struct{ groupNotFound, duplicate, ruleNotFound, ruleLimit bool }
	there := []ec2.Permission{tcp(80, cidr("10.0.0.0/8"))}
	authorize := func(group string, rules ...ec2.Permission) func(*testing.T, *ec2.Client) error {
		return func(t *testing.T, c *ec2.Client) error {
			return c.Authorize(t.Context(), budget.ClassOther, group, rules)
		}
	}
	tests := map[string]struct {
		call func(*testing.T, *ec2.Client) error
		want kinds
	}{
		"no such group":    {authorize("sg-none", tcp(81, cidr("10.0.0.0/8"))), kinds{groupNotFound: true}},
		"no group ID":      {authorize("web", tcp(81, cidr("10.0.0.0/8"))), kinds{groupNotFound: true}},
		"no such source":   {authorize(testGroup, tcp(81, ec2.Source{Group: "sg-none"})), kinds{groupNotFound: true}},
		"there already":    {authorize(testGroup, there...), kinds{duplicate: true}},
		"beyond the quota": {authorize(testGroup, tcp(81, cidr("10.0.0.0/8")), tcp(82, cidr("10.0.0.0/8"))), kinds{ruleLimit: true}},
		"not there": {func(t *testing.T, c *ec2.Client) error {
			return c.Revoke(t.Context(), budget.ClassOther, testGroup, []ec2.Permission{tcp(81, cidr("10.0.0.0/8"))})
		}, kinds{ruleNotFound: true}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			api := withRules(there)
			api.Quota = 2
			err := tc.call(t, clientOver(api))
			got := kinds{ec2.IsGroupNotFound(err), ec2.IsDuplicate(err), ec2.IsRuleNotFound(err), ec2.IsRuleLimit(err)}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(kinds{})); diff != "" {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}
