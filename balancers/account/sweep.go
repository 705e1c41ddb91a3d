// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/stack"
)

// sweepTimeout bounds a sweep: 10,000 things with their tags take a minute of the budget's calls.
const sweepTimeout = 5 * time.Minute

// swept is what a sweep has read.
type swept struct {
	began     int  // tick
	full      bool // tags were read again, and details are to be
	at        time.Time
	balancers []types.LoadBalancer
	groups    []types.TargetGroup
	tags      map[string]map[string]string
	security  []ec2types.SecurityGroup
}

// sweeper reads all stacks at once, and has the view take them in.
type sweeper struct{ *View }

// sweep reads all load balancers, target groups and security groups of the cluster. Tags are read again when the interval is over, or
// else those of what is new.
func (v sweeper) sweep(ctx context.Context) error {
	s := v.begin()
	balancers, err := v.ELB.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{})
	if err != nil {
		return err
	}
	groups, err := v.ELB.DescribeTargetGroups(ctx, &elbv2.DescribeTargetGroupsInput{})
	if err != nil {
		return err
	}
	s.balancers = slices.DeleteFunc(balancers.LoadBalancers, func(b types.LoadBalancer) bool {
		return aws.ToString(b.VpcId) != v.VPC || b.Type != types.LoadBalancerTypeEnumApplication && b.Type != types.LoadBalancerTypeEnumNetwork
	})
	s.groups = slices.DeleteFunc(groups.TargetGroups, func(g types.TargetGroup) bool { return aws.ToString(g.VpcId) != v.VPC })
	if err := v.sweepTags(ctx, &s); err != nil {
		return err
	}
	if s.security, err = v.sweepSecurityGroups(ctx); err != nil {
		return err
	}
	return v.takeIn(s)
}

func (v sweeper) begin() swept {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := swept{began: v.tick, full: v.isDue(), at: v.Clock.Now(), tags: map[string]map[string]string{}}
	if !s.full {
		maps.Copy(s.tags, v.tags)
	}
	return s
}

// sweepTags reads the tags that are not known, and drops those of what is gone.
func (v sweeper) sweepTags(ctx context.Context, s *swept) error {
	known := s.tags
	s.tags = map[string]map[string]string{}
	var arns []string
	add := func(arn string) {
		if tags, ok := known[arn]; ok {
			s.tags[arn] = tags
		} else {
			arns = append(arns, arn)
		}
	}
	for _, b := range s.balancers {
		add(aws.ToString(b.LoadBalancerArn))
	}
	for _, g := range s.groups {
		add(aws.ToString(g.TargetGroupArn))
	}
	return eachTags(ctx, v.ELB, arns, func(arn string, tags map[string]string) {
		if !isOfCluster(v.Cluster, tags) {
			tags = nil
		}
		s.tags[arn] = tags
	})
}

// tagsAtOnce is how many ARNs one call names.
const tagsAtOnce = 20

// eachTags reads tags. What is gone meanwhile has none: AWS refuses the call that names it, so the others of that call are asked for in
// halves.
func eachTags(ctx context.Context, elb ELB, arns []string, each func(arn string, tags map[string]string)) error {
	calls := slices.Collect(slices.Chunk(arns, tagsAtOnce))
	for len(calls) > 0 {
		asked := calls[0]
		calls = calls[1:]
		out, err := elb.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: asked})
		switch {
		case awserr.IsGone(err) && len(asked) == 1:
		case awserr.IsGone(err):
			calls = append(calls, asked[:len(asked)/2], asked[len(asked)/2:])
		case err != nil:
			return err
		default:
			for _, d := range out.TagDescriptions {
				each(aws.ToString(d.ResourceArn), tagsOf(d.Tags))
			}
		}
	}
	return nil
}

// sweepSecurityGroups reads the security groups with the cluster's tag, in its present and its former form.
func (v sweeper) sweepSecurityGroups(ctx context.Context) (all []ec2types.SecurityGroup, err error) {
	keys := []string{stack.ClusterTag}
	for _, kind := range kinds {
		keys = append(keys, formerClusterTag(kind))
	}
	for _, key := range keys {
		out, err := v.EC2.DescribeSecurityGroups(ctx, &awsec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{
			{Name: aws.String("vpc-id"), Values: []string{v.VPC}}, {Name: aws.String("tag:" + key), Values: []string{v.Cluster}},
		}})
		if err != nil {
			return nil, err
		}
		for _, group := range out.SecurityGroups {
			known := func(other ec2types.SecurityGroup) bool {
				return aws.ToString(other.GroupId) == aws.ToString(group.GroupId)
			}
			if !slices.ContainsFunc(all, known) {
				all = append(all, group)
			}
		}
	}
	return all, nil
}

// takeIn replaces what is known by what was swept, apart from stacks of which something was noted meanwhile.
func (v sweeper) takeIn(s swept) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.dropOld(s.at)
	entries, shared, err := v.assemble(s)
	if err != nil {
		return err
	}
	v.keepNoted(entries, s)
	for id, at := range v.forgotten {
		if at <= s.began && (entries[id] == nil || entries[id].changed <= s.began) {
			delete(v.forgotten, id)
		}
	}
	if s.full {
		v.swept = s.at
	}
	if len(shared) > 0 || !slices.ContainsFunc(v.shared, func(g stack.SecurityGroup) bool { return v.made[g.ID].tags != nil }) {
		v.shared = shared
	}
	v.entries, v.tags = entries, s.tags
	return nil
}

// keepNoted has entries keep what was noted since the sweep began, and what AWS does not show yet. The caller holds the lock.
func (v sweeper) keepNoted(entries map[stack.ID]*entry, s swept) {
	for id, old := range v.entries {
		switch now := entries[id]; {
		case old.changed > s.began:
			entries[id] = old
		case now == nil && v.isYoung(old.seen):
			entries[id] = old
		case now != nil:
			v.addYoung(&now.seen, old.seen)
			keepKnown(&now.seen, old.seen)
			v.keepDetails(id, now, old, s)
		}
	}
}

// keepDetails has a stack keep what is known of it when the sweep was for another stack's sake. Its own parts may be others: then all of
// it is read again. The caller holds the lock.
func (v sweeper) keepDetails(id stack.ID, now, old *entry, s swept) {
	now.changed = old.changed
	if !s.full && v.forgotten[id] == 0 && old.detailed {
		*now = *old
	}
}

// readStates reads which load balancers have become active, or could not be set up.
func (v detailReader) readStates(ctx context.Context, s *stack.Stack) error {
	if s.Front != nil {
		if err := v.readStates(ctx, s.Front); err != nil {
			return err
		}
	}
	for i := range s.LoadBalancers {
		b := &s.LoadBalancers[i]
		if b.Active {
			continue
		}
		out, err := v.ELB.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{LoadBalancerArns: []string{b.ARN}})
		if v.isUnshown(err, b.ARN) {
			continue
		}
		if err != nil {
			v.forgetIfGone(s.ID, err)
			return err
		}
		for _, described := range out.LoadBalancers {
			b.Active, b.Failed = isActive(described), failure(described)
		}
	}
	return nil
}
