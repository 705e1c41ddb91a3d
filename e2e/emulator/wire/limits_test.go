// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
	testclock "k8s.io/utils/clock/testing"

	"github.com/targetgate/targetgate/e2e/emulator/cloud"
)

func TestThrottling(t *testing.T) {
	clock := testclock.NewFakeClock(time.Now())
	b := newBed(t, cloud.Options{}, Options{Clock: clock})
	arn := b.createGroup("web")
	describe := func() error { _, err := b.health(arn); return err }
	register := func() error { return b.register(arn, "10.0.0.1") }
	deregister := func() error {
		_, err := b.elb.DeregisterTargets(ctx(t), &elb.DeregisterTargetsInput{TargetGroupArn: &arn, Targets: targets("10.0.0.1")})
		return err
	}
	modify := func() error {
		_, err := b.elb.ModifyTargetGroup(ctx(t), &elb.ModifyTargetGroupInput{TargetGroupArn: &arn})
		return err
	}
	untag := func() error {
		_, err := b.elb.RemoveTags(ctx(t), &elb.RemoveTagsInput{ResourceArns: []string{arn}, TagKeys: []string{"a"}})
		return err
	}
	tag := func() error {
		_, err := b.elb.AddTags(ctx(t), &elb.AddTagsInput{ResourceArns: []string{arn}, Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}})
		return err
	}
	cases := []struct {
		name             string
		call, alsoCounts func() error
		capacity, refill int
	}{
		{"describe", describe, describe, 200, 50},
		{"register and deregister", register, deregister, 20, 4},
		{"modify", modify, modify, 20, 3},
		{"remove", untag, untag, 20, 3},
		{"add, beside remove", tag, tag, 20, 3},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			for range tc.capacity / 2 {
				wantCode(t, tc.call(), "")
				wantCode(t, tc.alsoCounts(), "")
			}
			wantThrottled(t, tc.call())
			clock.Step(time.Second)
			for range tc.refill {
				wantCode(t, tc.call(), "")
			}
			wantThrottled(t, tc.call())
		})
	}
	throttled := 0
	for _, call := range b.server.Calls(0) {
		if call.Throttled {
			throttled++
		}
	}
	if throttled != 10 {
		t.Errorf("%d throttled calls in the log, want 10", throttled)
	}
	b.server.SetLimits(Limits{})
	for range 300 {
		wantCode(t, describe(), "")
	}
}

func wantThrottled(t *testing.T, err error) {
	t.Helper()
	wantCode(t, err, "Throttling")
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorMessage() != "Rate exceeded" {
		t.Errorf("message is %q", api.ErrorMessage())
	}
	var response *awshttp.ResponseError
	if !errors.As(err, &response) || response.HTTPStatusCode() != http.StatusBadRequest || response.ServiceRequestID() == "" {
		t.Errorf("error %v, want HTTP 400 with a request id", err)
	}
}

func TestThrottlingIsPerAccount(t *testing.T) {
	b := newBed(t, cloud.Options{}, Options{Limits: &Limits{Describe: Limit{Capacity: 1}}, Roles: []Role{{ARN: role}}})
	other := b.assumed()
	for range 2 {
		_, err := b.elb.DescribeTargetGroups(ctx(t), &elb.DescribeTargetGroupsInput{})
		if err != nil {
			wantThrottled(t, err)
		}
	}
	must[*elb.DescribeTargetGroupsOutput](t)(other.DescribeTargetGroups(ctx(t), &elb.DescribeTargetGroupsInput{}))
}

func TestLatency(t *testing.T) {
	const latency = 50 * time.Millisecond
	b := newBed(t, cloud.Options{}, Options{Latency: latency})
	must[*elb.DescribeTargetGroupsOutput](t)(b.elb.DescribeTargetGroups(ctx(t), &elb.DescribeTargetGroupsInput{}))
	call := b.server.Calls(0)[0]
	if took := call.Answered.Sub(call.Received); took < latency {
		t.Errorf("the call took %v, want at least %v", took, latency)
	}
}
