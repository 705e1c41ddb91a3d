// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"maps"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/balancers/stack"
)

const formerTag = "ingress.k8s.aws/cluster"

// Rule 32: two clusters are in one VPC, and somebody writes tags of the one on what the other has. Whatever they write beside the present
// cluster tag, each thing is seen by the cluster that this tag names, and by no other.
func TestEachThingBelongsToTheClusterOfItsPresentTag(t *testing.T) {
	for name, tc := range map[string]struct {
		tags map[string]string // beside those of the stack
		want string            // cluster
	}{
		"its own tag":                         {map[string]string{stack.ClusterTag: "prod"}, "prod"},
		"the former tag alone":                {map[string]string{formerTag: "prod"}, "prod"},
		"both of one cluster":                 {map[string]string{stack.ClusterTag: "prod", formerTag: "prod"}, "prod"},
		"the former one of another":           {map[string]string{stack.ClusterTag: "staging", formerTag: "prod"}, "staging"},
		"the former one beside an empty one":  {map[string]string{stack.ClusterTag: "", formerTag: "prod"}, ""},
		"Kubernetes' tag of another":          {map[string]string{stack.ClusterTag: "staging", "kubernetes.io/cluster/prod": "owned"}, "staging"},
		"Kubernetes' tag alone":               {map[string]string{"kubernetes.io/cluster/prod": "owned"}, ""},
		"the former tag of another kind":      {map[string]string{stack.ClusterTag: "staging", "service.k8s.aws/cluster": "prod"}, "staging"},
		"the shared part's tag of another":    {map[string]string{stack.ClusterTag: "staging", stack.SharedResourceTag: stack.SharedPart}, "staging"},
		"the shared part's and a former one":  {map[string]string{stack.ClusterTag: "staging", formerTag: "prod", stack.SharedResourceTag: stack.SharedPart}, "staging"},
		"the former one in another case only": {map[string]string{stack.ClusterTag: "staging", "Ingress.k8s.aws/cluster": "prod"}, "staging"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud()
			part := func(of string) map[string]string {
				tags := map[string]string{stack.Ingresses.StackTag(): "g", stack.Ingresses.ResourceTag(): of}
				maps.Copy(tags, tc.tags)
				return tags
			}
			c.add("balancer", part(stack.LoadBalancerPart))
			c.groups = []types.TargetGroup{{TargetGroupArn: aws.String("group"), VpcId: aws.String("vpc")}}
			c.tags["group"] = part("shop/web-web:80")
			security := ec2types.SecurityGroup{GroupId: aws.String("sg")}
			for key, value := range part(stack.SecurityGroupPart) {
				security.Tags = append(security.Tags, ec2types.Tag{Key: aws.String(key), Value: aws.String(value)})
			}
			c.security = []ec2types.SecurityGroup{security}
			for _, cluster := range []string{"prod", "staging"} {
				v, _ := viewOf(c)
				v.Cluster = cluster
				seen, err := v.Stack(t.Context(), stack.ID{Cluster: cluster, Kind: stack.Ingresses, Name: "g"})
				if err != nil {
					t.Fatal(err)
				}
				want := 0
				if cluster == tc.want {
					want = 1
				}
				if b, g, s := len(seen.LoadBalancers), len(seen.TargetGroups), len(seen.SecurityGroups); b != want || g != want || s != want {
					t.Errorf("%s sees %d load balancers, %d target groups and %d security groups, want %d of each", cluster, b, g, s, want)
				}
			}
		})
	}
}

// Rule 17: somebody takes or changes the tags of a stack, or of what all stacks share. While the cluster's tag is there, each thing stays what
// this process knows it to be, with the tags that it has; with that tag of another cluster it is that one's.
func TestWhatHasLostTagsOfItsStackStaysItsOwn(t *testing.T) {
	for name, tc := range map[string]struct {
		cluster string
		others  map[string]string
		known   bool
	}{
		"none of the stack's":   {"c", nil, true},
		"those of another":      {"c", map[string]string{stack.Ingresses.StackTag(): "other", stack.Ingresses.ResourceTag(): "other"}, true},
		"no tag of the cluster": {"", map[string]string{"team": "edge"}, false},
		"of another cluster":    {"another", stack.Tags("another", stack.Ingresses, "g", stack.LoadBalancerPart), false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud()
			ids := []string{"balancer", "group", "sg", "shared"}
			set := func(of func(id string) map[string]string) {
				c.security = nil
				for _, id := range ids {
					c.tags[id] = of(id)
				}
				for _, id := range ids[2:] {
					group := ec2types.SecurityGroup{GroupId: aws.String(id)}
					for key, value := range c.tags[id] {
						group.Tags = append(group.Tags, ec2types.Tag{Key: aws.String(key), Value: aws.String(value)})
					}
					c.security = append(c.security, group)
				}
			}
			c.add("balancer", nil)
			c.groups = []types.TargetGroup{{TargetGroupArn: aws.String("group"), VpcId: aws.String("vpc")}}
			parts := map[string]string{"balancer": stack.LoadBalancerPart, "group": "shop/web-web:80", "sg": stack.SecurityGroupPart}
			set(func(id string) map[string]string {
				if id == "shared" {
					return map[string]string{stack.ClusterTag: "c", stack.SharedResourceTag: stack.SharedPart}
				}
				return stack.Tags("c", stack.Ingresses, "g", parts[id])
			})
			v, clock := viewOf(c)
			before, err := v.Stack(t.Context(), id("g"))
			if err != nil || len(before.SecurityGroups) != 2 {
				t.Fatal(before, err)
			}
			for range 2 { // also when another sweep has seen them so
				set(func(string) map[string]string {
					tags := map[string]string{}
					if maps.Copy(tags, tc.others); tc.cluster != "" {
						tags[stack.ClusterTag] = tc.cluster
					}
					return tags
				})
				clock.SetTime(clock.Now().Add(v.Interval))
				seen, err := v.Stack(t.Context(), id("g"))
				if err != nil {
					t.Fatal(err)
				}
				if !tc.known {
					if len(seen.LoadBalancers)+len(seen.TargetGroups)+len(seen.SecurityGroups) > 0 {
						t.Fatalf("it is still seen: %+v", seen)
					}
					continue
				}
				want := before
				for _, tags := range []*map[string]string{
					&want.LoadBalancers[0].Tags, &want.TargetGroups[0].Tags, &want.SecurityGroups[0].Tags, &want.SecurityGroups[1].Tags,
				} {
					*tags = c.tags["group"]
				}
				if diff := cmp.Diff(want, seen); diff != "" {
					t.Errorf("stack (-want +got):\n%s", diff)
				}
				if others, err := v.Stacks(t.Context()); err != nil || len(others) != 1 {
					t.Errorf("stacks %v, error %v, want one", others, err)
				}
			}
		})
	}
}
