// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/targetgate/targetgate/aws/ec2"
)

// group is a security group with all sets of rules that it has had.
type group struct {
	id, vpc  string
	tags     map[string]string
	versions []version // the oldest first, at least one
}

type version struct {
	since time.Time
	rules map[ec2.Rule]ec2.Permission
}

func (g *group) rules() map[ec2.Rule]ec2.Permission { return g.versions[len(g.versions)-1].rules }

// rulesAt are those that the group had at that time, or had at first.
func (g *group) rulesAt(at time.Time) map[ec2.Rule]ec2.Permission {
	for _, v := range slices.Backward(g.versions) {
		if !v.since.After(at) {
			return v.rules
		}
	}
	return g.versions[0].rules
}

func (g *group) set(at time.Time, rules map[ec2.Rule]ec2.Permission) {
	g.versions = append(g.versions, version{since: at, rules: rules})
}

// AddGroup adds a security group, or replaces the one of its ID. It has had its rules for ever.
func (a *API) AddGroup(g ec2.SecurityGroup) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.groups == nil {
		a.groups = map[string]*group{}
	}
	a.groups[g.ID] = &group{id: g.ID, vpc: g.VPC, tags: maps.Clone(g.Tags), versions: []version{{rules: byRule(g.Ingress)}}}
}

// Rules are the inbound rules that the group has now, sorted by what Rule.String says of them.
func (a *API) Rules(id string) []ec2.Permission {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.SortedFunc(maps.Values(a.groups[id].rules()), func(x, y ec2.Permission) int {
		return strings.Compare(x.String(), y.String())
	})
}

func byRule(rules []ec2.Permission) map[ec2.Rule]ec2.Permission {
	out := map[ec2.Rule]ec2.Permission{}
	for _, rule := range rules {
		out[rule.Rule] = rule
	}
	return out
}

// DescribeSecurityGroups describes the groups of the IDs, or all. It knows no filters.
func (a *API) DescribeSecurityGroups(ctx context.Context, in *awsec2.DescribeSecurityGroupsInput, _ ...func(*awsec2.Options)) (
	*awsec2.DescribeSecurityGroupsOutput, error,
) {
	if err := a.begin(ctx, describeCall("DescribeSecurityGroups", in.GroupIds, in.Filters)); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	found, err := choose(a.groups, in.GroupIds, kinds["sg"])
	if err != nil {
		return nil, err
	}
	found, next, err := page(found, a.PageSize, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	out := &awsec2.DescribeSecurityGroupsOutput{NextToken: next}
	for _, g := range found {
		out.SecurityGroups = append(out.SecurityGroups, types.SecurityGroup{
			GroupId: aws.String(g.id), VpcId: aws.String(g.vpc), Tags: tagsOf(g.tags), IpPermissions: written(g.rulesAt(a.now().Add(-a.lag))),
		})
	}
	return out, nil
}

func tagsOf(tags map[string]string) (out []types.Tag) {
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return out
}

// AuthorizeSecurityGroupIngress adds all the rules, or none.
func (a *API) AuthorizeSecurityGroupIngress(
	ctx context.Context, in *awsec2.AuthorizeSecurityGroupIngressInput, _ ...func(*awsec2.Options),
) (*awsec2.AuthorizeSecurityGroupIngressOutput, error) {
	err := a.change(ctx, "AuthorizeSecurityGroupIngress", in.GroupId, in.IpPermissions,
		func(g *group, after map[ec2.Rule]ec2.Permission, rules []ec2.Permission) error {
			for _, rule := range rules {
				if err := a.refusedSource(g, rule.Source); err != nil {
					return err
				}
				if _, there := after[rule.Rule]; there {
					return duplicate(rule.Rule)
				}
				after[rule.Rule] = rule
			}
			if exceeds(after, a.quota()) {
				return refusal("RulesPerSecurityGroupLimitExceeded", "The maximum number of rules per security group has been reached.")
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	return &awsec2.AuthorizeSecurityGroupIngressOutput{Return: aws.Bool(true)}, nil
}

// RevokeSecurityGroupIngress removes all the rules, or none. Descriptions do not matter.
func (a *API) RevokeSecurityGroupIngress(
	ctx context.Context, in *awsec2.RevokeSecurityGroupIngressInput, _ ...func(*awsec2.Options),
) (*awsec2.RevokeSecurityGroupIngressOutput, error) {
	err := a.change(ctx, "RevokeSecurityGroupIngress", in.GroupId, in.IpPermissions,
		func(_ *group, after map[ec2.Rule]ec2.Permission, rules []ec2.Permission) error {
			for _, rule := range rules {
				if _, there := after[rule.Rule]; !there {
					return refusal("InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
				}
				delete(after, rule.Rule)
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	return &awsec2.RevokeSecurityGroupIngressOutput{Return: aws.Bool(true)}, nil
}

// change is a call that changes the rules of a group: edit does so to a copy, which is dropped when it refuses.
func (a *API) change(
	ctx context.Context, operation string, id *string, permissions []types.IpPermission,
	edit func(g *group, after map[ec2.Rule]ec2.Permission, rules []ec2.Permission) error,
) error {
	rules, invalid := read(permissions)
	call := Call{Operation: operation, Group: aws.ToString(id), Rules: rules}
	if err := a.begin(ctx, call); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	g, err := a.changed(call, invalid)
	if err != nil {
		return err
	}
	after := maps.Clone(g.rules())
	if err := edit(g, after, rules); err != nil {
		return err
	}
	g.set(a.now(), after)
	return nil
}

// changed finds the group that a call is to change, and refuses rules that are none, or of which two are the same.
func (a *API) changed(call Call, invalid error) (*group, error) {
	found, err := choose(a.groups, []string{call.Group}, kinds["sg"])
	switch {
	case err != nil:
		return nil, err
	case invalid != nil:
		return nil, invalid
	case len(call.Rules) == 0:
		return nil, refusal("MissingParameter", "The request must contain the parameter ipPermissions")
	case len(byRule(call.Rules)) < len(call.Rules):
		return nil, refusal("InvalidParameterValue", "The same permission must not appear multiple times")
	}
	return found[0], nil
}

// refusedSource refuses a group as source that does not exist, or is of another VPC.
func (a *API) refusedSource(g *group, source ec2.Source) error {
	if source.Group == "" {
		return nil
	}
	found, err := choose(a.groups, []string{source.Group}, kinds["sg"])
	if err == nil && found[0].vpc != g.vpc {
		return refusal("InvalidGroup.NotFound", "You have specified two resources that belong to different networks.")
	}
	return err
}

func (a *API) quota() int {
	if a.Quota == 0 {
		return DefaultQuota
	}
	return a.Quota
}

// exceeds reports whether there are too many rules of a family. A rule without addresses counts for both.
func exceeds(rules map[ec2.Rule]ec2.Permission, quota int) bool {
	var v4, v6 int
	for rule := range rules {
		if !rule.Source.CIDR.IsValid() || rule.Source.CIDR.Addr().Is4() {
			v4++
		}
		if !rule.Source.CIDR.IsValid() || !rule.Source.CIDR.Addr().Is4() {
			v6++
		}
	}
	return v4 > quota || v6 > quota
}
