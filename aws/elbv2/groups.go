// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awselbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/aws/budget"
)

// TargetGroup is what a target group is, apart from its targets.
type TargetGroup struct {
	ARN           string
	TargetType    string // instance, ip, lambda or alb
	Protocol      string
	IPAddressType string // ipv4 or ipv6
	VpcID         string
	LoadBalancers int // how many load balancers send to it; 0 means that no health check runs
	HealthCheck   HealthCheck
}

// HealthCheck holds the settings that decide when a target's health can change.
type HealthCheck struct {
	Interval           time.Duration // between two checks of a target, 5 s to 300 s
	Timeout            time.Duration // after which a check has failed, 2 s to 120 s
	HealthyThreshold   int           // passes in a row that make an unhealthy target healthy
	UnhealthyThreshold int           // failures in a row that make a healthy target unhealthy
}

// GroupByARN describes one target group. Class is budget.ClassAdmission when a user waits for the answer, else budget.ClassOther. The
// error satisfies IsTargetGroupNotFound when there is none.
func (c *Client) GroupByARN(ctx context.Context, class budget.Class, arn string) (TargetGroup, error) {
	return c.describeOne(ctx, class, arn, &awselbv2.DescribeTargetGroupsInput{TargetGroupArns: []string{arn}})
}

// GroupByName describes the target group of that name in the client's account and Region. Class is as for GroupByARN.
// The error satisfies IsTargetGroupNotFound when there is none.
func (c *Client) GroupByName(ctx context.Context, class budget.Class, name string) (TargetGroup, error) {
	return c.describeOne(ctx, class, name, &awselbv2.DescribeTargetGroupsInput{Names: []string{name}})
}

func (c *Client) describeOne(
	ctx context.Context, class budget.Class, what string, in *awselbv2.DescribeTargetGroupsInput,
) (TargetGroup, error) {
	ctx, err := c.session.Prepare(ctx, class, c.tenant)
	if err != nil {
		return TargetGroup{}, callError("describing target group", what, err)
	}
	out, err := c.api.DescribeTargetGroups(ctx, in, c.options(attempts(class)...)...)
	if err != nil {
		return TargetGroup{}, callError("describing target group", what, err)
	}
	if len(out.TargetGroups) != 1 {
		return TargetGroup{}, fmt.Errorf("describing target group %s: got %d groups, want one", what, len(out.TargetGroups))
	}
	return targetGroup(out.TargetGroups[0]), nil
}

// GroupName is the name in a target group's ARN, "" where there is none.
func GroupName(arn string) string {
	_, resource, _ := strings.Cut(arn, ":targetgroup/")
	name, _, _ := strings.Cut(resource, "/")
	return name
}

// briefAttempts is how often a call is tried at most that a user waits for: the pauses between them take 6 s at most, so
// that AWS's last word comes before the end of the API server's patience.
const briefAttempts = 3

// attempts bounds the attempts of a call of that class.
func attempts(class budget.Class) []func(*awselbv2.Options) {
	if class == budget.ClassAdmission {
		return []func(*awselbv2.Options){brief}
	}
	return nil
}

func brief(o *awselbv2.Options) {
	o.Retryer = retry.AddWithMaxAttempts(o.Retryer, min(o.Retryer.MaxAttempts(), briefAttempts))
}

func targetGroup(g types.TargetGroup) TargetGroup {
	return TargetGroup{
		ARN:           aws.ToString(g.TargetGroupArn),
		TargetType:    string(g.TargetType),
		Protocol:      string(g.Protocol),
		IPAddressType: string(g.IpAddressType),
		VpcID:         aws.ToString(g.VpcId),
		LoadBalancers: len(g.LoadBalancerArns),
		HealthCheck: HealthCheck{
			Interval:           seconds(g.HealthCheckIntervalSeconds),
			Timeout:            seconds(g.HealthCheckTimeoutSeconds),
			HealthyThreshold:   int(aws.ToInt32(g.HealthyThresholdCount)),
			UnhealthyThreshold: int(aws.ToInt32(g.UnhealthyThresholdCount)),
		},
	}
}

func seconds(n *int32) time.Duration {
	return time.Duration(aws.ToInt32(n)) * time.Second
}

// DeregistrationDelay is how long a deregistered target of the group drains. Class is as for GroupByARN.
func (c *Client) DeregistrationDelay(ctx context.Context, class budget.Class, arn string) (time.Duration, error) {
	ctx, err := c.session.Prepare(ctx, class, c.tenant)
	if err != nil {
		return 0, callError("describing attributes of target group", arn, err)
	}
	out, err := c.api.DescribeTargetGroupAttributes(ctx,
		&awselbv2.DescribeTargetGroupAttributesInput{TargetGroupArn: &arn}, c.options(attempts(class)...)...)
	if err != nil {
		return 0, callError("describing attributes of target group", arn, err)
	}
	for _, a := range out.Attributes {
		if aws.ToString(a.Key) == "deregistration_delay.timeout_seconds" {
			n, err := strconv.Atoi(aws.ToString(a.Value))
			return time.Duration(n) * time.Second, callError("reading the deregistration delay of target group", arn, err)
		}
	}
	return 0, fmt.Errorf("describing attributes of target group %s: no deregistration delay in the answer", arn)
}
