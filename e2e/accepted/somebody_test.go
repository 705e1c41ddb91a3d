// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package accepted

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/balancers/apply/input"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// somebody changes things in AWS that are not theirs.
type somebody struct {
	*cloud
	t    testing.TB
	elb  *elbv2.Client
	ec2  *awsec2.Client
	seen stack.Stack
	// before is all that AWS showed before the change.
	before map[string]string
}

func (c *cloud) somebody(t testing.TB, seen stack.Stack) *somebody {
	return &somebody{cloud: c, t: t, elb: elbv2.NewFromConfig(c.config), ec2: awsec2.NewFromConfig(c.config), seen: seen}
}

// errNoCall says that AWS has no call for a change.
var errNoCall = errors.New("AWS has no call for it")

// do makes the change of a site of a copy of what is seen.
func (y *somebody) do(s site) error {
	s.alter()
	switch owner := s.owner.(type) {
	case *stack.Stack:
		return y.stack(s, owner)
	case *stack.LoadBalancer:
		return y.loadBalancer(s, owner)
	case *stack.Listener:
		return y.listener(s, owner)
	case *stack.Rule:
		return y.rule(s, owner)
	case *stack.TargetGroup:
		return y.targetGroup(s, owner)
	case *stack.SecurityGroup:
		return y.securityGroup(s, owner)
	}
	return errNoCall
}

// before is the part that the copy was made of, as it is seen.
func before[T any](y *somebody, same func(T) bool) *T {
	var found *T
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		if v.Type() == reflect.TypeFor[T]() && same(v.Interface().(T)) {
			found = v.Addr().Interface().(*T)
		}
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i))
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem())
			}
		}
	}
	walk(reflect.ValueOf(&y.seen).Elem())
	return found
}

// hasSeen reports whether a part was there when somebody looked first.
func (y *somebody) hasSeen(owner any) bool {
	switch o := owner.(type) {
	case *stack.LoadBalancer:
		return before(y, func(other stack.LoadBalancer) bool { return other.ARN == o.ARN }) != nil
	case *stack.Listener:
		return before(y, func(other stack.Listener) bool { return other.ARN == o.ARN }) != nil
	case *stack.Rule:
		return before(y, func(other stack.Rule) bool { return other.ARN == o.ARN }) != nil
	case *stack.TargetGroup:
		return before(y, func(other stack.TargetGroup) bool { return other.ARN == o.ARN }) != nil
	case *stack.SecurityGroup:
		return before(y, func(other stack.SecurityGroup) bool { return other.ID == o.ID }) != nil
	}
	return true
}

// tags has AWS give something other tags.
func (y *somebody) tags(arn string, was, now map[string]string) error {
	ctx := y.t.Context()
	set := maps.Clone(now)
	maps.DeleteFunc(set, func(key, value string) bool { old, ok := was[key]; return ok && old == value })
	var gone []string
	for key := range was {
		if _, ok := now[key]; !ok {
			gone = append(gone, key)
		}
	}
	var err error
	switch isSecurityGroup := strings.HasPrefix(arn, "sg-"); {
	case len(set) > 0 && isSecurityGroup:
		_, err = y.ec2.CreateTags(ctx, &awsec2.CreateTagsInput{Resources: []string{arn}, Tags: input.EC2Tags(set)})
	case len(set) > 0:
		_, err = y.elb.AddTags(ctx, &elbv2.AddTagsInput{ResourceArns: []string{arn}, Tags: input.Tags(set)})
	case len(gone) > 0 && isSecurityGroup:
		_, err = y.ec2.DeleteTags(ctx, &awsec2.DeleteTagsInput{Resources: []string{arn}, Tags: []ec2types.Tag{{Key: aws.String(gone[0])}}})
	case len(gone) > 0:
		_, err = y.elb.RemoveTags(ctx, &elbv2.RemoveTagsInput{ResourceArns: []string{arn}, TagKeys: gone})
	}
	return err
}

// stack adds or removes a whole part.
func (y *somebody) stack(s site, _ *stack.Stack) error {
	ctx := y.t.Context()
	in := before(y, func(other stack.Stack) bool { return (len(other.LoadBalancers) > 0) && isOf(other, s) })
	if in == nil {
		return errNoCall
	}
	switch {
	case s.field == "Stack.LoadBalancers" && s.at >= 0:
		_, err := y.elb.DeleteLoadBalancer(ctx, &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: aws.String(in.LoadBalancers[s.at].ARN)})
		return err
	case s.field == "Stack.TargetGroups" && s.at >= 0 && s.at < len(in.TargetGroups): // AWS deletes none that is in use
		for _, b := range in.LoadBalancers {
			for _, l := range b.Listeners {
				if _, err := y.elb.DeleteListener(ctx, &elbv2.DeleteListenerInput{ListenerArn: aws.String(l.ARN)}); err != nil {
					return err
				}
			}
		}
		_, err := y.elb.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: aws.String(in.TargetGroups[s.at].ARN)})
		return err
	case s.field == "Stack.TargetGroups" && len(in.TargetGroups) > 0:
		more := in.TargetGroups[0]
		more.Name = "another"
		_, err := y.elb.CreateTargetGroup(ctx, input.CreateTargetGroup(more, y.applier.VPC))
		return err
	case s.field == "Stack.SecurityGroups" && s.at >= 0: // likewise
		for _, part := range y.seen.All() {
			for _, b := range part.LoadBalancers {
				_, err := y.elb.SetSecurityGroups(ctx, &elbv2.SetSecurityGroupsInput{LoadBalancerArn: aws.String(b.ARN), SecurityGroups: []string{y.group}})
				if err != nil {
					return err
				}
			}
		}
		_, err := y.ec2.DeleteSecurityGroup(ctx, &awsec2.DeleteSecurityGroupInput{GroupId: aws.String(y.seen.SecurityGroups[s.at].ID)})
		return err
	case s.field == "Stack.SecurityGroups" && len(y.seen.SecurityGroups) > 0:
		more := y.seen.SecurityGroups[0]
		if more.Name = "another"; more.Shared { // it may be in use by what is not ours
			return errNoCall
		}
		_, err := y.ec2.CreateSecurityGroup(ctx, input.CreateSecurityGroup(more, y.applier.VPC))
		return err
	}
	return errNoCall
}

// isOf reports whether a stack that is seen is the one of the site: that in front or that behind.
func isOf(seen stack.Stack, s site) bool { return (seen.ID.Name == "") == (len(s.above) > 0) }

func (y *somebody) loadBalancer(s site, b *stack.LoadBalancer) error {
	ctx, arn := y.t.Context(), aws.String(b.ARN)
	was := before(y, func(other stack.LoadBalancer) bool { return other.ARN == b.ARN })
	var err error
	switch s.field {
	case "LoadBalancer.Tags":
		err = y.tags(b.ARN, was.Tags, b.Tags)
	case "LoadBalancer.Attributes":
		_, err = y.elb.ModifyLoadBalancerAttributes(ctx, input.ModifyLoadBalancerAttributes(steps.SetLoadBalancerAttributes{
			LoadBalancer: stack.Ref{ID: b.ARN}, Attributes: map[string]string{s.key: b.Attributes[s.key]},
		}))
	case "LoadBalancer.AddressType":
		_, err = y.elb.SetIpAddressType(ctx, &elbv2.SetIpAddressTypeInput{LoadBalancerArn: arn, IpAddressType: types.IpAddressType(b.AddressType)})
	case "LoadBalancer.Subnets":
		_, err = y.elb.SetSubnets(ctx, &elbv2.SetSubnetsInput{LoadBalancerArn: arn, Subnets: b.Subnets})
	case "LoadBalancer.SecurityGroups", "Ref.ID":
		if s.field == "Ref.ID" {
			b.SecurityGroups = []stack.Ref{{ID: y.group}}
		} else if s.at < 0 {
			if slices.Contains(input.IDs(was.SecurityGroups), y.group) {
				return errNoCall
			}
			b.SecurityGroups[len(b.SecurityGroups)-1] = stack.Ref{ID: y.group}
		}
		_, err = y.elb.SetSecurityGroups(ctx, &elbv2.SetSecurityGroupsInput{LoadBalancerArn: arn, SecurityGroups: input.IDs(b.SecurityGroups)})
	case "LoadBalancer.IPAMPool":
		_, err = y.elb.ModifyIpPools(ctx, &elbv2.ModifyIpPoolsInput{
			LoadBalancerArn: arn, RemoveIpamPools: []types.RemoveIpamPoolEnum{types.RemoveIpamPoolEnumIpv4},
		})
	case "LoadBalancer.Capacity":
		_, err = y.elb.ModifyCapacityReservation(ctx, &elbv2.ModifyCapacityReservationInput{
			LoadBalancerArn: arn, MinimumLoadBalancerCapacity: &types.MinimumLoadBalancerCapacity{CapacityUnits: b.Capacity},
		})
	case "LoadBalancer.WebACL":
		err = y.aws.WAF.Disassociate("", b.ARN)
	case "LoadBalancer.ClassicACL":
		err = y.aws.WAF.DisassociateClassic("", b.ARN)
	case "Protection.ID":
		err = y.aws.Shield.Unprotect("", was.Protection.ID)
	case "LoadBalancer.Listeners":
		if s.at >= 0 {
			_, err = y.elb.DeleteListener(ctx, &elbv2.DeleteListenerInput{ListenerArn: aws.String(was.Listeners[s.at].ARN)})
			return err
		}
		more := b.Listeners[len(b.Listeners)-1]
		more.Port = 9443
		in, fault := input.CreateListener(steps.CreateListener{LoadBalancer: stack.Ref{ID: b.ARN}, Listener: withSecrets(more)})
		if fault != nil {
			return fault
		}
		_, err = y.elb.CreateListener(ctx, in)
	default:
		err = errNoCall
	}
	return err
}

func (y *somebody) listener(s site, l *stack.Listener) error {
	ctx := y.t.Context()
	was := before(y, func(other stack.Listener) bool { return other.ARN == l.ARN })
	switch s.field {
	case "Listener.Tags":
		return y.tags(l.ARN, was.Tags, l.Tags)
	case "Listener.Attributes":
		_, err := y.elb.ModifyListenerAttributes(ctx, input.ModifyListenerAttributes(steps.SetListenerAttributes{
			Listener: stack.Ref{ID: l.ARN}, Attributes: map[string]string{s.key: l.Attributes[s.key]},
		}))
		return err
	case "Listener.Certificates":
		return y.certificates(s, was, l)
	case "Listener.Rules":
		if s.at >= 0 {
			_, err := y.elb.DeleteRule(ctx, &elbv2.DeleteRuleInput{RuleArn: aws.String(was.Rules[s.at].ARN)})
			return err
		}
		more := withSecret(l.Rules[len(l.Rules)-1])
		more.Priority = 777
		in, err := input.CreateRule(steps.CreateRule{Listener: stack.Ref{ID: l.ARN}, Rule: more})
		if err == nil {
			_, err = y.elb.CreateRule(ctx, in)
		}
		return err
	case "Listener.ARN":
		return errNoCall
	case "Listener.Protocol": // AWS wants the rest to fit
		if l.Protocol == "HTTP" {
			l.SSLPolicy, l.Certificates, l.MutualAuth = "", nil, nil
		} else {
			l.Certificates = []string{certificate}
		}
	}
	in, err := input.ModifyListener(steps.ModifyListener{Listener: stack.Ref{ID: l.ARN}, To: withSecrets(*l)})
	if err == nil {
		_, err = y.elb.ModifyListener(ctx, in)
	}
	return err
}

// certificates changes the default one, or the list for SNI.
func (y *somebody) certificates(s site, was, l *stack.Listener) error {
	ctx, arn := y.t.Context(), aws.String(l.ARN)
	var err error
	switch {
	case s.at < 0: // one more
		_, err = y.elb.AddListenerCertificates(ctx, &elbv2.AddListenerCertificatesInput{
			ListenerArn: arn, Certificates: input.Certificates(l.Certificates[len(l.Certificates)-1]),
		})
	case s.how == "number 0 is removed": // AWS wants a default one
		err = errNoCall
	case len(l.Certificates) < len(was.Certificates):
		_, err = y.elb.RemoveListenerCertificates(ctx, &elbv2.RemoveListenerCertificatesInput{
			ListenerArn: arn, Certificates: input.Certificates(was.Certificates[s.at]),
		})
	case l.Certificates[0] != was.Certificates[0]:
		_, err = y.elb.ModifyListener(ctx, &elbv2.ModifyListenerInput{ListenerArn: arn, Certificates: input.Certificates(l.Certificates[0])})
	default:
		i := slices.IndexFunc(was.Certificates, func(c string) bool { return !slices.Contains(l.Certificates[1:], c) })
		_, err = y.elb.RemoveListenerCertificates(ctx, &elbv2.RemoveListenerCertificatesInput{
			ListenerArn: arn, Certificates: input.Certificates(was.Certificates[max(i, 1)]),
		})
	}
	return err
}

func (y *somebody) rule(s site, r *stack.Rule) error {
	ctx := y.t.Context()
	was := before(y, func(other stack.Rule) bool { return other.ARN == r.ARN })
	switch s.field {
	case "Rule.Tags":
		return y.tags(r.ARN, was.Tags, r.Tags)
	case "Rule.Priority":
		_, err := y.elb.SetRulePriorities(ctx, input.SetRulePriorities(steps.SetPriorities{
			Priorities: []steps.RulePriority{{Rule: stack.Ref{ID: r.ARN}, Priority: 900 + r.Priority}},
		}))
		return err
	case "Rule.ARN":
		return errNoCall
	}
	in, err := input.ModifyRule(steps.ModifyRule{Rule: stack.Ref{ID: r.ARN}, To: withSecret(*r)})
	if err == nil {
		_, err = y.elb.ModifyRule(ctx, in)
	}
	return err
}

// withSecrets has clients of the default action have a secret, which nobody sees.
func withSecrets(l stack.Listener) stack.Listener {
	l.Default = withSecret(stack.Rule{Action: l.Default}).Action
	return l
}

func withSecret(r stack.Rule) stack.Rule {
	if r.Action.Auth != nil && r.Action.Auth.OIDC != nil {
		client := *r.Action.Auth.OIDC
		client.Secret, r.Action.Auth = "another", &stack.Auth{OIDC: &client}
	}
	return r
}

func (y *somebody) targetGroup(s site, g *stack.TargetGroup) error {
	ctx := y.t.Context()
	was := before(y, func(other stack.TargetGroup) bool { return other.ARN == g.ARN })
	var err error
	switch s.field {
	case "TargetGroup.Tags":
		err = y.tags(g.ARN, was.Tags, g.Tags)
	case "TargetGroup.Attributes":
		_, err = y.elb.ModifyTargetGroupAttributes(ctx, input.ModifyTargetGroupAttributes(steps.SetTargetGroupAttributes{
			Group: stack.Ref{ID: g.ARN}, Attributes: map[string]string{s.key: g.Attributes[s.key]},
		}))
	case "Ref.ID", "TargetGroup.TargetPort": // the load balancer behind
		if was.Target.ID == "" {
			return errNoCall
		}
		_, err = y.elb.DeregisterTargets(ctx, &elbv2.DeregisterTargetsInput{
			TargetGroupArn: aws.String(g.ARN), Targets: []types.TargetDescription{{Id: aws.String(was.Target.ID)}},
		})
	default:
		if !strings.HasPrefix(s.field, "HealthCheck.") {
			return errNoCall
		}
		_, err = y.elb.ModifyTargetGroup(ctx, input.ModifyTargetGroup(steps.SetHealthCheck{
			Group: stack.Ref{ID: g.ARN}, Check: g.HealthCheck, ProtocolVersion: g.ProtocolVersion,
		}))
	}
	return err
}

// securityGroup takes rules away that the copy has not, and adds those that it has.
func (y *somebody) securityGroup(s site, g *stack.SecurityGroup) error {
	was := before(y, func(other stack.SecurityGroup) bool { return other.ID == g.ID })
	if s.field == "SecurityGroup.Tags" {
		return y.tags(g.ID, was.Tags, g.Tags)
	}
	if !strings.HasPrefix(s.field, "Inbound.") && s.field != "SecurityGroup.Inbound" {
		return errNoCall
	}
	if s.at < 0 {
		g.Inbound[len(g.Inbound)-1].Source = "192.0.2.0/24"
	}
	for _, rule := range was.Inbound {
		if !slices.Contains(g.Inbound, rule) {
			if err := y.applier.Calls.EC2.Revoke(y.t.Context(), g.ID, permissions(y.t, rule)); err != nil {
				return err
			}
		}
	}
	for _, rule := range g.Inbound {
		if !slices.Contains(was.Inbound, rule) {
			if err := y.applier.Calls.EC2.Authorize(y.t.Context(), g.ID, permissions(y.t, rule)); err != nil {
				return err
			}
		}
	}
	return nil
}

func permissions(t testing.TB, rule stack.Inbound) []ec2.Permission {
	t.Helper()
	out, err := input.Permissions([]stack.Inbound{rule})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
