// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/smithy-go"

	"github.com/targetgate/targetgate/e2e/emulator"
	"github.com/targetgate/targetgate/e2e/emulator/iam"
)

func TestPoliciesAreWhatTheREADMESays(t *testing.T) {
	policies, err := (&Bed{root: "../.."}).policies()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		action, resource string
		want             bool
	}{
		{"sts:AssumeRole", "arn:aws:iam::210987654321:role/shared", true},
		{"ec2:AuthorizeSecurityGroupIngress", "arn:aws:ec2:eu-west-1:123456789012:security-group/sg-1", true},
		{"elasticloadbalancing:DescribeTargetHealth", "*", true},
		{"elasticloadbalancing:DeleteTargetGroup", "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/a/b", false},
		{"ec2:DescribeRouteTables", "*", false},
	} {
		if got := iam.Evaluate(policies, iam.Call{Action: tc.action, Resource: tc.resource}).Allowed; got != tc.want {
			t.Errorf("%s is allowed: %v, want %v", tc.action, got, tc.want)
		}
	}
}

func TestUnauthorizedCallsAreAFault(t *testing.T) {
	run, err := emulator.Start(t.Context(), emulator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	bed := &Bed{root: "../..", AWS: run}
	accessKey := bed.AccessKey()
	policies, err := bed.policies()
	if err != nil {
		t.Fatal(err)
	}
	run.SetPolicies(accessKey, policies...)
	run.SetPolicies("other", policies...)
	client := func(key string) *elb.Client {
		return elb.New(elb.Options{
			Region: "eu-west-1", BaseEndpoint: aws.String(run.URL()), Retryer: aws.NopRetryer{},
			Credentials: credentials.NewStaticCredentialsProvider(key, "secret", ""),
		})
	}
	call := func(key string) {
		t.Helper()
		_, err := client(key).DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{})
		var refusal smithy.APIError
		if !errors.As(err, &refusal) || refusal.ErrorCode() != "AccessDenied" {
			t.Fatalf("error is %v, want AccessDenied", err)
		}
	}
	call("other")
	end := bed.Excuse()
	call(accessKey)
	end()
	if _, err := client(accessKey).DescribeTargetGroups(t.Context(), &elb.DescribeTargetGroupsInput{}); err != nil {
		t.Fatal(err)
	}
	if err := bed.unauthorized(); err != nil {
		t.Errorf("calls of others, excused ones and allowed ones: %v", err)
	}
	call(accessKey)
	if err := bed.unauthorized(); err == nil || !strings.Contains(err.Error(), "DescribeLoadBalancers") {
		t.Errorf("error is %v, want one with DescribeLoadBalancers", err)
	}
}
