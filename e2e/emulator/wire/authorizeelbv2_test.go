// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// TestTaggingIsAuthorizedAsTheIncumbentNeedsIt has the conditions of the incumbent's policy: what is created has the cluster's tag in the
// call itself, later tags of it are no longer that one, and all other changes need it on the resource.
func TestTaggingIsAuthorizedAsTheIncumbentNeedsIt(t *testing.T) {
	const (
		key     = "elbv2.k8s.aws/cluster"
		request = `"Null": {"aws:RequestTag/` + key + `": "false"}`
		owned   = `"Null": {"aws:RequestTag/` + key + `": "true", "aws:ResourceTag/` + key + `": "false"}`
		all     = "arn:aws:elasticloadbalancing:*:*:"
		create  = "elasticloadbalancing:Create*"
		addTags = "elasticloadbalancing:AddTags"
		denied  = "AccessDenied"
	)
	inCreate := `"StringEquals": {"elasticloadbalancing:CreateAction": "CreateLoadBalancer"}, ` + request
	other := `"StringEquals": {"elasticloadbalancing:CreateAction": "CreateTargetGroup"}`
	for name, tc := range map[string]struct {
		statements   []string
		tags         []types.Tag
		want, retag  string
		add, protect string
	}{
		"created with the tag": {
			[]string{allows(create, "*", request), allows(addTags, all+"loadbalancer/app/*/*", inCreate)},
			[]types.Tag{{Key: aws.String(key), Value: aws.String("c")}}, "", denied, "team", denied,
		},
		"created without the tag":   {[]string{allows(create, "*", request)}, nil, denied, "", "", ""},
		"may not tag at all":        {[]string{allows(create, "*", "")}, []types.Tag{{Key: aws.String(key), Value: aws.String("c")}}, denied, "", "", ""},
		"may tag another creation":  {[]string{allows(create, "*", ""), allows(addTags, "*", other)}, []types.Tag{{Key: aws.String(key), Value: aws.String("c")}}, denied, "", "", ""},
		"may tag other resources":   {[]string{allows(create, "*", ""), allows(addTags, all+"targetgroup/*", "")}, []types.Tag{{Key: aws.String(key), Value: aws.String("c")}}, denied, "", "", ""},
		"no tags need no AddTags":   {[]string{allows(create, "*", "")}, nil, "", denied, "team", denied},
		"tagged later with another": {[]string{allows(create, "*", ""), allows(addTags, "*", inCreate), allows("elasticloadbalancing:*", all+"loadbalancer/app/*/*", owned)}, []types.Tag{{Key: aws.String(key), Value: aws.String("c")}}, "", "", "team", ""},
		"tagged later with the tag": {[]string{allows(create, "*", ""), allows(addTags, "*", inCreate), allows("elasticloadbalancing:*", all+"loadbalancer/app/*/*", owned)}, []types.Tag{{Key: aws.String(key), Value: aws.String("c")}}, "", denied, key, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newELBBed(t)
			b.server.SetPolicies("AKIATEST", policy(t, tc.statements...), readsEC2(t))
			out, err := b.elb.CreateLoadBalancer(ctx(t), &elb.CreateLoadBalancerInput{Name: aws.String("lb"), Subnets: bothZones, Tags: tc.tags})
			wantCode(t, err, tc.want)
			if err != nil {
				return
			}
			arn := *out.LoadBalancers[0].LoadBalancerArn
			_, err = b.elb.AddTags(ctx(t), &elb.AddTagsInput{ResourceArns: []string{arn}, Tags: []types.Tag{{Key: &tc.add, Value: aws.String("x")}}})
			wantCode(t, err, tc.retag)
			_, err = b.elb.SetSubnets(ctx(t), &elb.SetSubnetsInput{LoadBalancerArn: &arn, Subnets: bothZones})
			wantCode(t, err, tc.protect)
		})
	}
}

// Each of the actions in EC2 that AWS's page "Elastic Load Balancing API permissions" lists is needed, and none is for what it does not list.
func TestCallsThatLookAtEC2InTheCallersName(t *testing.T) {
	b := newELBBed(t, onOutposts)
	b.machine.PutPool(outpostPool)
	lb := b.balancer("lb")
	calls := map[string]func() error{
		"SetSubnets": func() error {
			_, err := b.elb.SetSubnets(ctx(t), &elb.SetSubnetsInput{LoadBalancerArn: &lb, Subnets: bothZones})
			return err
		},
		"CreateLoadBalancer": func() error {
			_, err := b.elb.CreateLoadBalancer(ctx(t), &elb.CreateLoadBalancerInput{Name: aws.String("new"), Subnets: bothZones})
			return err
		},
		"CreateLoadBalancer on an Outpost": func() error {
			in := &elb.CreateLoadBalancerInput{Name: aws.String("out"), Subnets: []string{outpostSubnet}, CustomerOwnedIpv4Pool: aws.String(outpostPool)}
			_, err := b.elb.CreateLoadBalancer(ctx(t), in)
			return err
		},
		"DeleteLoadBalancer": func() error {
			_, err := b.elb.DeleteLoadBalancer(ctx(t), &elb.DeleteLoadBalancerInput{LoadBalancerArn: &lb})
			return err
		},
	}
	for _, tc := range []struct {
		operation, without string
		want               string
	}{
		{"SetSubnets", "DescribeSubnets", "AccessDenied"},
		{"SetSubnets", "DescribeVpcs", ""},
		{"CreateLoadBalancer", "GetSecurityGroupsForVpc", "AccessDenied"},
		{"CreateLoadBalancer", "DescribeAccountAttributes", "AccessDenied"},
		{"CreateLoadBalancer", "DescribeInstances", ""},
		{"CreateLoadBalancer", "*Coip*", ""},
		{"CreateLoadBalancer on an Outpost", "DescribeCoipPools", "AccessDenied"},
		{"CreateLoadBalancer on an Outpost", "GetCoipPoolUsage", "AccessDenied"},
		{"DeleteLoadBalancer", "Describe*", ""},
	} {
		t.Run(tc.operation+" without "+tc.without, func(t *testing.T) {
			b.server.SetPolicies("AKIATEST", policy(t, allows("*", "*", "")),
				policy(t, `{"Effect": "Deny", "Action": "ec2:`+tc.without+`", "Resource": "*"}`))
			wantCode(t, calls[tc.operation](), tc.want)
		})
	}
}

// TestResourcesOfListenersAndRules allows one listener's calls alone.
func TestResourcesOfListenersAndRules(t *testing.T) {
	b := newELBBed(t)
	lb := b.balancer("lb")
	listener, other := b.listener(lb, 80, fixed("404")), b.listener(lb, 81, fixed("404"))
	rule, foreign := b.rule(listener, 1, "/a", fixed("200")), b.rule(other, 1, "/a", fixed("200"))
	tail := listener[len(listener)-16:]
	b.server.SetPolicies("AKIATEST", policy(t, allows("elasticloadbalancing:*", "arn:aws:elasticloadbalancing:*:*:listener*/app/lb/*/"+tail+"*", "")))
	priorities := func(rules ...string) *elb.SetRulePrioritiesInput {
		in := &elb.SetRulePrioritiesInput{}
		for n, arn := range rules {
			in.RulePriorities = append(in.RulePriorities, types.RulePriorityPair{RuleArn: &arn, Priority: aws.Int32(int32(5 + n))})
		}
		return in
	}
	_, err := b.elb.SetRulePriorities(ctx(t), priorities(rule))
	wantCode(t, err, "")
	_, err = b.elb.SetRulePriorities(ctx(t), priorities(rule, foreign))
	wantCode(t, err, "AccessDenied")
	_, err = b.elb.DeleteRule(ctx(t), &elb.DeleteRuleInput{RuleArn: &foreign})
	wantCode(t, err, "AccessDenied")
	_, err = b.elb.ModifyListener(ctx(t), &elb.ModifyListenerInput{ListenerArn: &other, Port: aws.Int32(82)})
	wantCode(t, err, "AccessDenied")
	_, err = b.elb.ModifyListener(ctx(t), &elb.ModifyListenerInput{ListenerArn: &listener, Port: aws.Int32(82)})
	wantCode(t, err, "")
	_, err = b.elb.DeleteLoadBalancer(ctx(t), &elb.DeleteLoadBalancerInput{LoadBalancerArn: &lb})
	wantCode(t, err, "AccessDenied")
}
