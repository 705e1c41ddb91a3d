// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/budget"
)

// tagged answers DescribeTags with the descriptions.
type tagged struct {
	API
	descriptions []types.TagDescription
	class        budget.Class
}

func (a *tagged) DescribeTags(ctx context.Context, _ *awselbv2.DescribeTagsInput, _ ...func(*awselbv2.Options)) (
	*awselbv2.DescribeTagsOutput, error,
) {
	a.class = budget.ChargeOf(ctx).Class
	return &awselbv2.DescribeTagsOutput{TagDescriptions: a.descriptions}, nil
}

func TestClientReadsTag(t *testing.T) {
	describe := func(arn string, tags ...types.Tag) []types.TagDescription {
		return []types.TagDescription{{ResourceArn: &arn, Tags: tags}}
	}
	other, bind := types.Tag{Key: aws.String("team"), Value: aws.String("x")}, types.Tag{Key: aws.String("bind"), Value: aws.String("prod/shop")}
	tests := map[string]struct {
		descriptions []types.TagDescription
		value        string
		tagged       bool
		wantErr      bool
	}{
		"there":           {descriptions: describe(testARN, other, bind), value: "prod/shop", tagged: true},
		"without a value": {descriptions: describe(testARN, types.Tag{Key: aws.String("bind")}), tagged: true},
		"another":         {descriptions: describe(testARN, other)},
		"none":            {descriptions: describe(testARN)},
		"nothing at all":  {wantErr: true},
		"another group's": {descriptions: describe(testARN+"0", bind), wantErr: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			api := &tagged{descriptions: tc.descriptions}
			value, has, err := New(api, budget.New("", nil, clock.RealClock{})).Tag(t.Context(), budget.ClassWaitingHealth, testARN, "bind")
			if value != tc.value || has != tc.tagged || (err != nil) != tc.wantErr || api.class != budget.ClassWaitingHealth {
				t.Errorf("got %q, %t, %v, in class %s", value, has, err, api.class)
			}
		})
	}
}
