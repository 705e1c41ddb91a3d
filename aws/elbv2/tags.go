// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/targetgate/targetgate/aws/budget"
)

// Tag is the value of a target group's tag; tagged is false when it has none of that key. Class is as for GroupByARN, or
// budget.ClassWaitingHealth when pods wait for the answer. The error satisfies IsTargetGroupNotFound when there is no such group.
func (c *Client) Tag(ctx context.Context, class budget.Class, arn, key string) (value string, tagged bool, err error) {
	ctx, err = c.session.Prepare(ctx, class, c.tenant)
	if err != nil {
		return "", false, callError("describing tags of target group", arn, err)
	}
	in := &awselbv2.DescribeTagsInput{ResourceArns: []string{arn}}
	out, err := c.api.DescribeTags(ctx, in, c.options(attempts(class)...)...)
	if err != nil {
		return "", false, callError("describing tags of target group", arn, err)
	}
	if len(out.TagDescriptions) != 1 || aws.ToString(out.TagDescriptions[0].ResourceArn) != arn {
		return "", false, fmt.Errorf("describing tags of target group %s: the answer is about something else", arn)
	}
	for _, tag := range out.TagDescriptions[0].Tags {
		if aws.ToString(tag.Key) == key {
			return aws.ToString(tag.Value), true, nil
		}
	}
	return "", false, nil
}
