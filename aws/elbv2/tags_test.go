// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
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

func TestClientReadsTags(t *testing.T) {
	describe := func(arn string, tags ...types.Tag) []types.TagDescription {
		return []types.TagDescription{{ResourceArn: &arn, Tags: tags}}
	}
	other, bind := types.Tag{Key: aws.String("team"), Value: aws.String("x")}, types.Tag{Key: aws.String("bind"), Value: aws.String("prod/shop")}
	tests := map[string]struct {
		descriptions []types.TagDescription
		want         map[string]string
		wantErr      bool
	}{
		"there":           {descriptions: describe(testARN, other, bind), want: map[string]string{"bind": "prod/shop"}},
		"without a value": {descriptions: describe(testARN, types.Tag{Key: aws.String("bind")}), want: map[string]string{"bind": ""}},
		"another":         {descriptions: describe(testARN, other), want: map[string]string{}},
		"none":            {descriptions: describe(testARN), want: map[string]string{}},
		"nothing at all":  {wantErr: true},
		"another group's": {descriptions: describe(testARN+"0", bind), wantErr: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			api := &tagged{descriptions: tc.descriptions}
			client := New(api, budget.New("", nil, clock.RealClock{}))
			got, err := client.Tags(t.Context(), budget.ClassWaitingHealth, testARN, "bind", "made")
			if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.wantErr || api.class != budget.ClassWaitingHealth {
				t.Errorf("error %v, in class %s (-want +got):\n%s", err, api.class, diff)
			}
		})
	}
}
