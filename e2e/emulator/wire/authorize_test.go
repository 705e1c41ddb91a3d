// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	ststypes "github.com/aws/aws-sdk-go-v2/service/sts/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/iam"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

func policy(t *testing.T, statements ...string) iam.Policy {
	t.Helper()
	return must[iam.Policy](t)(iam.Parse([]byte(`{"Version": "2012-10-17", "Statement": [` + strings.Join(statements, ",") + `]}`)))
}

// allows is a statement with a condition, "" is none.
func allows(action, resource, condition string) string {
	if condition != "" {
		condition = `, "Condition": {` + condition + `}`
	}
	return `{"Effect": "Allow", "Action": "` + action + `", "Resource": "` + resource + `"` + condition + `}`
}

// readsEC2 allows what ELB looks up in EC2 in the caller's name.
func readsEC2(t *testing.T) iam.Policy {
	t.Helper()
	return policy(t, allows("ec2:Describe*", "*", ""), allows("ec2:GetSecurityGroupsForVpc", "*", ""))
}

func TestPoliciesDecide(t *testing.T) {
	const groups = "arn:aws:ec2:eu-west-1:123456789012:security-group/*"
	b, group := newEC2Bed(t, Options{Roles: []Role{{ARN: role, TagSession: true}}})
	arn := b.createGroup("web")
	if err := b.machine.AddTags(arn, map[string]string{"team": "shop"}); err != nil {
		t.Fatal(err)
	}
	authorize := func() error { return b.authorize(group, fromGroup("sg-00000000000000000")) }
	register := func() error { return b.register(arn) }
	describe := func() error { _, err := b.health(arn); return err }
	assume := func(tags ...ststypes.Tag) func() error {
		return func() error {
			_, err := b.sts().AssumeRole(ctx(t), &sts.AssumeRoleInput{RoleArn: aws.String(role), RoleSessionName: aws.String("a-session"), Tags: tags})
			return err
		}
	}
	tagged := assume(ststypes.Tag{Key: aws.String("a"), Value: aws.String("b")})
	tag := func() error {
		_, err := b.elb.AddTags(ctx(t), &elb.AddTagsInput{ResourceArns: []string{arn}, Tags: []types.Tag{{Key: aws.String("new"), Value: aws.String("b")}}})
		return err
	}
	create := func() error {
		_, err := b.elb.CreateLoadBalancer(ctx(t), &elb.CreateLoadBalancerInput{Name: aws.String("lb"), Type: types.LoadBalancerTypeEnumNetwork})
		return err
	}
	const (
		ec2Denied = "UnauthorizedOperation"
		denied    = "AccessDenied"
		// acted are the codes of calls that were let through.
		acted = "ValidationError"
	)
	for name, tc := range map[string]struct {
		call   func() error
		policy string
		want   string
	}{
		"a change of a group":                     {authorize, allows("ec2:Authorize*", groups, ""), "InvalidGroup.NotFound"},
		"another operation":                       {authorize, allows("ec2:Revoke*", groups, ""), ec2Denied},
		"another region":                          {authorize, allows("ec2:*", strings.Replace(groups, "west", "east", 1), ""), ec2Denied},
		"a tag of the group":                      {authorize, allows("ec2:*", "*", `"StringEquals": {"aws:ResourceTag/a": "b"}`), "InvalidGroup.NotFound"},
		"another tag of the group":                {authorize, allows("ec2:*", "*", `"Null": {"aws:ResourceTag/x": "false"}`), ec2Denied},
		"a target group":                          {register, allows("elasticloadbalancing:RegisterTargets", "arn:aws:elasticloadbalancing:*:*:targetgroup/web/*", ""), acted},
		"another target group":                    {register, allows("elasticloadbalancing:RegisterTargets", "arn:aws:elasticloadbalancing:*:*:targetgroup/w/*", ""), denied},
		"a target group by tag":                   {register, allows("*", "*", `"StringEquals": {"aws:ResourceTag/team": "shop"}`), acted},
		"a reading on all resources":              {describe, allows("elasticloadbalancing:DescribeTargetHealth", "*", ""), ""},
		"a reading knows no resource":             {describe, allows("elasticloadbalancing:*", "arn:aws:elasticloadbalancing:*:*:targetgroup/*/*", ""), denied},
		"a tag in the call":                       {tag, allows("*", "*", `"Null": {"aws:RequestTag/new": "false"}`), ""},
		"not that tag in the call":                {tag, allows("*", "*", `"Null": {"aws:RequestTag/new": "true"}`), denied},
		"what is created has a name":              {create, allows("*", "arn:aws:elasticloadbalancing:*:*:loadbalancer/net/lb/*", ""), acted},
		"what is created has another name":        {create, allows("*", "arn:aws:elasticloadbalancing:*:*:loadbalancer/app/lb/*", ""), denied},
		"a role":                                  {assume(), allows("sts:AssumeRole", role, ""), ""},
		"another role":                            {assume(), allows("sts:AssumeRole", role+"x", ""), denied},
		"a role with session tags":                {tagged, allows("sts:*", role, ""), ""},
		"a role without permission for such tags": {tagged, allows("sts:AssumeRole", role, ""), denied},
	} {
		t.Run(name, func(t *testing.T) {
			b.server.SetPolicies("AKIATEST", policy(t, tc.policy), readsEC2(t))
			wantCode(t, tc.call(), tc.want)
		})
	}
	b.server.SetPolicies("AKIATEST", policy(t, allows("*", "*", "")), policy(t, `{"Effect": "Deny", "Action": "sts:*", "Resource": "*"}`))
	wantCode(t, assume()(), denied)
	wantCode(t, describe(), "")
	must[*sts.GetCallerIdentityOutput](t)(b.sts().GetCallerIdentity(ctx(t), &sts.GetCallerIdentityInput{}))
	b.server.SetPolicies("AKIATEST")
	wantCode(t, assume()(), "")
}

func TestRefusalsByPoliciesReadAsAWSs(t *testing.T) {
	b, group := newEC2Bed(t, Options{Policies: map[string][]iam.Policy{
		"AKIATEST": {policy(t, allows("sts:*", "*", ""), `{"Effect": "Deny", "Action": "elasticloadbalancing:Register*", "Resource": "*"}`)},
	}})
	arn := must[state.Group](t)(b.machine.CreateGroup("", state.GroupSpec{
		Name: "web", Protocol: state.ProtocolHTTP, Port: 80, VPC: ec2.DefaultVPCID, TargetType: state.TypeIP,
	})).ARN
	const user = "User: arn:aws:iam::123456789012:user/AKIATEST is not authorized to perform: "
	_, describeErr := b.ec2().DescribeInstances(ctx(t), &awsec2.DescribeInstancesInput{})
	_, healthErr := b.health(arn)
	for name, tc := range map[string]struct {
		err        error
		code, want string
	}{
		"a change in EC2": {
			b.authorize(group), "UnauthorizedOperation",
			"You are not authorized to perform this operation. " + user + "ec2:AuthorizeSecurityGroupIngress on resource: arn:aws:ec2:eu-west-1:123456789012:security-group/" +
				group + " because no identity-based policy allows the ec2:AuthorizeSecurityGroupIngress action. Encoded authorization failure message: ",
		},
		"a reading in EC2": {
			describeErr, "UnauthorizedOperation", "You are not authorized to perform this operation. " + user +
				"ec2:DescribeInstances because no identity-based policy allows the ec2:DescribeInstances action. Encoded authorization failure message: ",
		},
		"a reading in ELB": {
			healthErr, "AccessDenied", user + "elasticloadbalancing:DescribeTargetHealth because no identity-based policy allows the elasticloadbalancing:DescribeTargetHealth action",
		},
		"a change that is denied": {
			b.register(arn, "10.0.0.1"), "AccessDenied", user + "elasticloadbalancing:RegisterTargets on resource: " + arn + " with an explicit deny in an identity-based policy",
		},
	} {
		t.Run(name, func(t *testing.T) {
			wantCode(t, tc.err, tc.code)
			wantStatus(t, tc.err, http.StatusForbidden)
			var api smithy.APIError
			if !errors.As(tc.err, &api) || !strings.HasPrefix(api.ErrorMessage(), tc.want) {
				t.Errorf("message is %v, want %s", tc.err, tc.want)
			}
		})
	}
	for _, call := range b.server.Calls(0) {
		if !call.Unauthorized {
			t.Errorf("%s is not logged as unauthorized", call.Operation)
		}
	}
}

func TestPoliciesOfARole(t *testing.T) {
	b := newBed(t, cloud.Options{}, Options{Roles: []Role{{ARN: role}}})
	b.server.SetPolicies(role, policy(t, allows("elasticloadbalancing:DescribeTags", "*", "")))
	_, err := b.assumed().DescribeTargetGroups(ctx(t), &elb.DescribeTargetGroupsInput{})
	wantCode(t, err, "AccessDenied")
	_, err = b.elb.DescribeTargetGroups(ctx(t), &elb.DescribeTargetGroupsInput{})
	wantCode(t, err, "")
}

// TestUnusedGrants uses what is shipped, but for one permission.
func TestUnusedGrants(t *testing.T) {
	text, err := os.ReadFile("../../../config/iam/bindings-and-security-groups.json")
	if err != nil {
		t.Fatal(err)
	}
	b, group := newEC2Bed(t, Options{})
	arn := b.createGroup("web")
	b.server.SetPolicies("AKIATEST", must[iam.Policy](t)(iam.Parse(text)))
	wantCode(t, b.register(arn, "10.0.0.1"), "")
	wantCode(t, b.authorize(group, fromCIDR("10.0.0.0/8")), "")
	wantCode(t, b.revoke(group, fromCIDR("10.0.0.0/8")), "")
	_, err = b.health(arn)
	wantCode(t, err, "")
	_, err = b.elb.DescribeTags(ctx(t), &elb.DescribeTagsInput{ResourceArns: []string{arn}})
	wantCode(t, err, "")
	_, err = b.elb.DescribeTargetGroups(ctx(t), &elb.DescribeTargetGroupsInput{})
	wantCode(t, err, "")
	_, err = b.elb.DescribeTargetGroupAttributes(ctx(t), &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: &arn})
	wantCode(t, err, "")
	_, err = b.elb.DeregisterTargets(ctx(t), &elb.DeregisterTargetsInput{TargetGroupArn: &arn, Targets: targets("10.0.0.1")})
	wantCode(t, err, "")
	_, err = b.ec2().DescribeSecurityGroups(ctx(t), &awsec2.DescribeSecurityGroupsInput{})
	wantCode(t, err, "")
	_, err = b.ec2().DescribeRouteTables(ctx(t), &awsec2.DescribeRouteTablesInput{})
	wantCode(t, err, "UnauthorizedOperation")
	want := []iam.Grant{{Statement: "ReadSecurityGroups", Action: "ec2:DescribeNetworkInterfaces"}}
	if diff := cmp.Diff(want, b.server.UnusedGrants("AKIATEST")); diff != "" {
		t.Errorf("unused permissions (-want +got):\n%s", diff)
	}
}
