// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/balancers/apply/input"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// securityGroups does the changes of security groups.
type securityGroups struct {
	SecurityGroups
	owner owner
	vpc   string
}

func (d *doing) securityGroups() securityGroups { return securityGroups{d.EC2, d.owner(), d.VPC} }

func (s securityGroups) create(ctx context.Context, c steps.CreateSecurityGroup) (steps.Made, error) {
	return s.owner.named(c, c.Group.Name, func(name string) (steps.Made, error) {
		c.Group.Name = name
		return s.createNamed(ctx, c)
	})
}

func (s securityGroups) createNamed(ctx context.Context, c steps.CreateSecurityGroup) (steps.Made, error) {
	out, err := s.CreateSecurityGroup(ctx, input.CreateSecurityGroup(c.Group, s.vpc))
	if awserr.HasCode(err, "InvalidGroup.Duplicate") {
		return s.adopt(ctx, c)
	}
	if err != nil {
		return steps.Made{}, err
	}
	return steps.Made{ID: aws.ToString(out.GroupId)}, nil
}

// adopt takes the one that has the name, if it is ours: an earlier pass has made it and not heard of it. The rules that it
// has are found by the next pass.
func (s securityGroups) adopt(ctx context.Context, c steps.CreateSecurityGroup) (steps.Made, error) {
	out, err := s.DescribeSecurityGroups(ctx, &awsec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{
		{Name: aws.String("group-name"), Values: []string{c.Group.Name}}, {Name: aws.String("vpc-id"), Values: []string{s.vpc}},
	}})
	if err != nil {
		return steps.Made{}, err
	}
	group, err := only(out.SecurityGroups, "security groups")
	if err != nil {
		return steps.Made{}, s.owner.orUnshown(err, len(out.SecurityGroups) == 0, c.Group.Name)
	}
	tags, id := map[string]string{}, aws.ToString(group.GroupId)
	for _, tag := range group.Tags {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	if !s.owner.has(tags, c.Group.Tags) {
		return steps.Made{ID: id}, &foreignError{what: "security group", name: c.Group.Name, holder: id, bare: len(tags) == 0}
	}
	return steps.Made{ID: id, Adopted: true}, nil
}

func (s securityGroups) authorize(ctx context.Context, c steps.Authorize) error {
	return changeRules(ctx, s.Authorize, ec2.IsDuplicate, c.Group.ID, c.Rules)
}

func (s securityGroups) revoke(ctx context.Context, c steps.Revoke) error {
	return changeRules(ctx, s.Revoke, ec2.IsRuleNotFound, c.Group.ID, c.Rules)
}

// changeRules makes a change of rules with one call. If EC2 refuses it as one of them is changed already, which it did not show, each rule
// has a call of its own.
func changeRules(ctx context.Context, call func(context.Context, string, []ec2.Permission) error, isMade func(error) bool,
	group string, rules []stack.Inbound,
) error {
	permissions, err := input.Permissions(rules)
	if err != nil {
		return refuse(err)
	}
	if err := call(ctx, group, permissions); !isMade(err) {
		return err
	}
	for i := range permissions {
		if err := call(ctx, group, permissions[i:i+1]); err != nil && !isMade(err) {
			return err
		}
	}
	return nil
}

func (s securityGroups) delete(ctx context.Context, c steps.DeleteSecurityGroup) error {
	_, err := s.DeleteSecurityGroup(ctx, &awsec2.DeleteSecurityGroupInput{GroupId: aws.String(c.Group.ID)})
	return err
}

// authorizer adds rules to security groups. Where one has no room for them, the rules that they replace are removed first.
type authorizer struct {
	*doing
	groups securityGroups
}

// exchanged are the security groups whose surplus rules have made room for new ones, before their turn.
type exchanged []string

// has reports whether a change was made before its turn.
func (e exchanged) has(change steps.Change) bool {
	c, ok := change.(steps.Revoke)
	return ok && slices.Contains(e, c.Group.ID)
}

// authorize adds rules, in the room of others if need be.
func (a authorizer) authorize(ctx context.Context, c steps.Authorize) error {
	err := a.groups.authorize(ctx, c)
	if ec2.IsRuleLimit(err) {
		return a.replace(ctx, c, err)
	}
	return err
}

// replace adds rules in the room of old ones: EC2 has refused them beside these, as it counts a prefix list by its maximum size. It removes
// what the plan would remove later, adds the new rules, and puts the old ones back if EC2 refuses the new ones even then.
func (a authorizer) replace(ctx context.Context, c steps.Authorize, full error) error {
	step := a.surplus(c.Group.ID)
	revoke, ok := step.Change.(steps.Revoke)
	if !ok || !mayFit(c.Rules, revoke.Rules) || a.blocked.isLeftOut(revoke) {
		return full
	}
	if err := a.groups.revoke(ctx, revoke); err != nil {
		return err
	}
	logChange(ctx, revoke, steps.Made{})
	err := a.groups.authorize(ctx, c)
	switch {
	case err == nil:
		a.exchanged = append(a.exchanged, revoke.Group.ID)
		a.done(step, revoke, steps.Made{})
		return nil
	case !ec2.IsRuleLimit(err): // the rules may be there, and have the room in the next pass if not
		a.uncertain = true
		return err
	}
	a.uncertain = true
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTimeout)
	defer cancel()
	if failed := a.groups.authorize(back, steps.Authorize(revoke)); failed != nil {
		return fmt.Errorf("%w; the rules that made room for these could not be put back: %s", err, awserr.Message(failed))
	}
	logChange(ctx, steps.Authorize(revoke), steps.Made{})
	return err
}

// restoreTimeout is how long rules are put back, also while the process ends.
const restoreTimeout = 10 * time.Second

// mayFit reports whether rules may have the room of others: they name fewer prefix lists, or as many in no more rules.
func mayFit(rules, room []stack.Inbound) bool {
	lists := func(rules []stack.Inbound) (n int) {
		for _, rule := range rules {
			if strings.HasPrefix(rule.Source, "pl-") {
				n++
			}
		}
		return n
	}
	need, has := lists(rules), lists(room)
	return need < has || need == has && len(rules) <= len(room)
}

// surplus is the step that is yet to remove rules of a security group.
func (a authorizer) surplus(group string) (yet steps.Step) {
	added := false
	for _, step := range a.pass.Plan {
		switch c := step.Change.(type) {
		case steps.Authorize:
			added = added || c.Group.ID == group
		case steps.Revoke:
			if added && c.Group.ID == group {
				return step
			}
		}
	}
	return yet
}
