// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/targetgate/targetgate/aws/budget"
)

// Tags are a target group's tags of these keys, as far as it has them. Class is as for GroupByARN, or budget.ClassWaitingHealth when pods
// wait for the answer. The error satisfies IsTargetGroupNotFound when there is no such group.
func (c *Client) Tags(ctx context.Context, class budget.Class, arn string, keys ...string) (map[string]string, error) {
	ctx, err := c.session.Prepare(ctx, class, c.tenant)
	if err != nil {
		return nil, callError("describing tags of target group", arn, err)
	}
	in := &awselbv2.DescribeTagsInput{ResourceArns: []string{arn}}
	out, err := c.api.DescribeTags(ctx, in, c.options(attempts(class)...)...)
	if err != nil {
		return nil, callError("describing tags of target group", arn, err)
	}
	if len(out.TagDescriptions) != 1 || aws.ToString(out.TagDescriptions[0].ResourceArn) != arn {
		return nil, fmt.Errorf("describing tags of target group %s: the answer is about something else", arn)
	}
	tags := map[string]string{}
	for _, tag := range out.TagDescriptions[0].Tags {
		if key := aws.ToString(tag.Key); slices.Contains(keys, key) {
			tags[key] = aws.ToString(tag.Value)
		}
	}
	return tags, nil
}
