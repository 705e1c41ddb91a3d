// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
)

func (d *directory) DescribeTags(_ context.Context, in *elbv2.DescribeTagsInput) (*elbv2.DescribeTagsOutput, error) {
	d.calls++
	missing := func(arn string) bool { return !slices.Contains(d.there, strings.TrimPrefix(arn, "arn-")) }
	switch {
	case d.throttled:
		return nil, &smithy.GenericAPIError{Code: "Throttling"}
	case len(in.ResourceArns) > 20:
		return nil, &smithy.GenericAPIError{Code: "ValidationError"}
	case slices.ContainsFunc(in.ResourceArns, missing):
		return nil, &smithy.GenericAPIError{Code: "TargetGroupNotFound"}
	}
	out := &elbv2.DescribeTagsOutput{}
	for _, arn := range in.ResourceArns {
		out.TagDescriptions = append(out.TagDescriptions, elbtypes.TagDescription{ResourceArn: &arn, Tags: []elbtypes.Tag{{Key: aws.String("of"), Value: &arn}}})
	}
	return out, nil
}

// The tags of many target groups take few calls, also where some are not there; and those that are asked for again and again fewer and fewer.
func TestTheOwnersOfManyTargetGroupsAreKnownInFewCalls(t *testing.T) {
	n, d, clock := newDirectory("web", "api")
	var arns []string
	for i := range 98 {
		arns = append(arns, fmt.Sprint("arn-gone-", i))
	}
	arns = append(arns, "arn-web", "arn-api")
	got := n.TargetGroupTags(t.Context(), arns)
	if len(got.Failed) > 0 || len(got.Found) != 100 || got.Found["arn-web"]["of"] != "arn-web" || got.Found["arn-gone-1"] != nil {
		t.Fatalf("%+v", got)
	}
	if d.calls > 5+2+1 { // one for each 20, one more where some are there, and one for the list of all
		t.Errorf("%d calls", d.calls)
	}
	calls := 0
	for range 60 { // an hour
		before := d.calls
		n.TargetGroupTags(t.Context(), []string{"arn-web"})
		calls += d.calls - before
		clock.Step(time.Minute)
	}
	if calls < 5 || calls > 10 {
		t.Errorf("%d calls in an hour", calls)
	}
	d.throttled = true
	clock.Step(time.Hour)
	if got := n.TargetGroupTags(t.Context(), []string{"arn-web"}); got.Failed["arn-web"] == nil || len(got.Found) > 0 {
		t.Errorf("throttled: %+v", got)
	}
	d.throttled = false
	if got := n.TargetGroupTags(t.Context(), []string{"arn-web"}); got.Found["arn-web"]["of"] == "" {
		t.Errorf("a failure is remembered: %+v", got)
	}
}
