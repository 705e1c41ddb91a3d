// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// Whoever's has the wanted name, and however AWS tells of that, what is created then has the free name. Ours is taken, and what may be ours is
// awaited.
func TestWhatSomebodyElseHasTakenGetsAnotherName(t *testing.T) {
	ours := stack.Tags("prod", stack.Ingresses, "shop", "part")
	theirs := stack.Tags("staging", stack.Ingresses, "shop", "part")
	for name, tc := range map[string]struct {
		wanted    string
		tags      map[string]string // of what has the name
		freeTaken bool
		want      []string // names that are asked for
		failed    bool
	}{
		"another cluster's":                {"k8s-a", theirs, false, []string{"k8s-a", "k8s-free"}, false},
		"nobody's":                         {"k8s-a", nil, false, []string{"k8s-a", "k8s-free"}, false},
		"what may show its tags soon":      {"awaited-a", nil, false, []string{"awaited-a"}, true},
		"another's that is awaited, too":   {"awaited-a", theirs, false, []string{"awaited-a", "k8s-free"}, false},
		"ours":                             {"k8s-a", ours, false, []string{"k8s-a"}, false},
		"another's, and the free one, too": {"k8s-a", theirs, true, []string{"k8s-a", "k8s-free"}, true},
	} {
		for how, foul := range map[string]func(f *fakeAWS, name string, tags map[string]string){
			"refused": func(f *fakeAWS, name string, tags map[string]string) {
				f.errs["CreateLoadBalancer "+name] = refusal("DuplicateLoadBalancerName")
				f.hold(name, "internal", tags)
			},
			"refused, of another scheme": func(f *fakeAWS, name string, tags map[string]string) {
				f.errs["CreateLoadBalancer "+name] = refusal("DuplicateLoadBalancerName")
				f.hold(name, "internet-facing", tags)
			},
			"answered": func(f *fakeAWS, name string, tags map[string]string) {
				f.hold(name, "internal", tags)
				f.answers["CreateLoadBalancer "+name] = &elbv2.CreateLoadBalancerOutput{LoadBalancers: []types.LoadBalancer{{
					LoadBalancerArn: aws.String("known-" + name), DNSName: aws.String("dns"),
				}}}
			},
			"security group": func(f *fakeAWS, name string, tags map[string]string) {
				f.errs["CreateSecurityGroup "+name] = refusal("InvalidGroup.Duplicate")
				group := ec2types.SecurityGroup{GroupId: aws.String("sg-" + name)}
				for key, value := range tags {
					group.Tags = append(group.Tags, ec2types.Tag{Key: &key, Value: &value})
				}
				f.answers["DescribeSecurityGroups "+name] = &awsec2.DescribeSecurityGroupsOutput{SecurityGroups: []ec2types.SecurityGroup{group}}
			},
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				f := good()
				f.answers["CreateLoadBalancer k8s-free"] = &elbv2.CreateLoadBalancerOutput{LoadBalancers: []types.LoadBalancer{{
					LoadBalancerArn: aws.String("arn"), DNSName: aws.String("dns"),
				}}}
				foul(f, tc.wanted, tc.tags)
				if tc.freeTaken {
					foul(f, "k8s-free", tc.tags)
				}
				var change steps.Change = steps.CreateLoadBalancer{LoadBalancer: stack.LoadBalancer{Name: tc.wanted, Scheme: "internal", Tags: ours}}
				if how == "security group" {
					change = steps.CreateSecurityGroup{Group: stack.SecurityGroup{Name: tc.wanted, Tags: ours}}
				}
				result, view := runPass(t, f, Pass{Plan: do(change), Free: func(steps.Change, steps.Made) string { return "k8s-free" }})
				var asked []string
				for _, in := range f.inputs {
					switch in := in.(type) {
					case *elbv2.CreateLoadBalancerInput:
						asked = append(asked, *in.Name)
					case *awsec2.CreateSecurityGroupInput:
						asked = append(asked, *in.GroupName)
					}
				}
				if diff := cmp.Diff(tc.want, asked); diff != "" {
					t.Errorf("names (-want +got):\n%s", diff)
				}
				isOther := how == "refused, of another scheme" && name == "ours"
				if failed := len(result.Failures) == 1; failed != (tc.failed || isOther) {
					t.Errorf("result %+v", result)
				}
				if last := asked[len(asked)-1]; len(result.Done) == 1 && !slices.Equal(view.names, []string{last}) {
					t.Errorf("noted names %q, want %s", view.names, last)
				}
			})
		}
	}
}

// hold has a load balancer of that name be there.
func (f *fakeAWS) hold(name string, scheme types.LoadBalancerSchemeEnum, tags map[string]string) {
	description, arn := types.TagDescription{}, "known-"+name
	for key, value := range tags {
		description.Tags = append(description.Tags, types.Tag{Key: &key, Value: &value})
	}
	f.answers["DescribeTags "+arn] = &elbv2.DescribeTagsOutput{TagDescriptions: []types.TagDescription{description}}
	f.answers["DescribeLoadBalancers "+name] = &elbv2.DescribeLoadBalancersOutput{LoadBalancers: []types.LoadBalancer{{
		LoadBalancerArn: aws.String(arn), DNSName: aws.String("dns"), Scheme: scheme,
	}}}
}
