// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/balancers/stack"
)

// CreateSecurityGroup has the tags in the call itself: the policy that we ship allows it with those alone.
func CreateSecurityGroup(g stack.SecurityGroup, vpc string) *awsec2.CreateSecurityGroupInput {
	return &awsec2.CreateSecurityGroupInput{
		GroupName: aws.String(g.Name), Description: aws.String(g.Description), VpcId: aws.String(vpc),
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeSecurityGroup, Tags: EC2Tags(g.Tags)}},
	}
}

// EC2Tags are in the order of their keys.
func EC2Tags(tags map[string]string) (out []types.Tag) {
	for key, value := range sorted(tags) {
		out = append(out, types.Tag{Key: aws.String(key), Value: aws.String(value)})
	}
	return out
}

// Permissions are the rules, without descriptions. The error names a source that is none.
func Permissions(rules []stack.Inbound) ([]ec2.Permission, error) {
	out := make([]ec2.Permission, 0, len(rules))
	for _, rule := range rules {
		source, err := source(rule.Source)
		if err != nil {
			return nil, err
		}
		out = append(out, ec2.Permission{Rule: ec2.Rule{Protocol: rule.Protocol, From: rule.From, To: rule.To, Source: source}})
	}
	return out, nil
}

func source(text string) (ec2.Source, error) {
	if strings.HasPrefix(text, "sg-") {
		return ec2.Source{Group: text}, nil
	}
	if strings.HasPrefix(text, "pl-") {
		return ec2.Source{PrefixList: text}, nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return ec2.Source{}, fmt.Errorf("source %q of an inbound rule: %w", text, err)
	}
	return ec2.Source{CIDR: prefix.Masked()}, nil
}

// sorted yields the map in the order of its keys.
func sorted(values map[string]string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if !yield(key, values[key]) {
				return
			}
		}
	}
}
