// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/aws/elbv2"
)

// DescribeTargetGroups implements elbv2.API.
func (a *modelAWS) DescribeTargetGroups(ctx context.Context, in *awselbv2.DescribeTargetGroupsInput, _ ...func(*awselbv2.Options)) (
	*awselbv2.DescribeTargetGroupsOutput, error,
) {
	arn, out := in.TargetGroupArns[0], &awselbv2.DescribeTargetGroupsOutput{}
	err := a.call(ctx, "DescribeTargetGroups", arn, func(g *modelGroup) error {
		tg := elbv2types.TargetGroup{
			TargetGroupArn: aws.String(arn), Protocol: g.protocol, HealthCheckIntervalSeconds: aws.Int32(10),
			HealthCheckTimeoutSeconds: aws.Int32(5), HealthyThresholdCount: aws.Int32(2), UnhealthyThresholdCount: aws.Int32(2),
		}
		if !g.unattached {
			tg.LoadBalancerArns = []string{"arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/web/0"}
		}
		out.TargetGroups = append(out.TargetGroups, tg)
		return nil
	})
	return out, err
}

// DescribeTargetGroupAttributes implements elbv2.API.
func (a *modelAWS) DescribeTargetGroupAttributes(
	ctx context.Context, in *awselbv2.DescribeTargetGroupAttributesInput, _ ...func(*awselbv2.Options),
) (*awselbv2.DescribeTargetGroupAttributesOutput, error) {
	out := &awselbv2.DescribeTargetGroupAttributesOutput{Attributes: []elbv2types.TargetGroupAttribute{
		{Key: aws.String("deregistration_delay.timeout_seconds"), Value: aws.String("30")},
	}}
	return out, a.call(ctx, "DescribeTargetGroupAttributes", *in.TargetGroupArn, func(*modelGroup) error { return nil })
}

// DescribeTags implements elbv2.API.
func (a *modelAWS) DescribeTags(ctx context.Context, in *awselbv2.DescribeTagsInput, _ ...func(*awselbv2.Options)) (
	*awselbv2.DescribeTagsOutput, error,
) {
	described := elbv2types.TagDescription{ResourceArn: aws.String(in.ResourceArns[0])}
	err := a.call(ctx, "DescribeTags", in.ResourceArns[0], func(g *modelGroup) error {
		if g.owner != "" {
			described.Tags = []elbv2types.Tag{{Key: aws.String("elbv2.k8s.aws/cluster"), Value: aws.String(g.owner)}}
		}
		return nil
	})
	return &awselbv2.DescribeTagsOutput{TagDescriptions: []elbv2types.TagDescription{described}}, err
}

// DescribeTargetHealth implements elbv2.API.
func (a *modelAWS) DescribeTargetHealth(ctx context.Context, in *awselbv2.DescribeTargetHealthInput, _ ...func(*awselbv2.Options)) (
	*awselbv2.DescribeTargetHealthOutput, error,
) {
	out, shown := &awselbv2.DescribeTargetHealthOutput{}, map[*modelTarget]elbv2.State{}
	err := a.call(ctx, "DescribeTargetHealth", *in.TargetGroupArn, func(g *modelGroup) error {
		omitted := a.omitted(g)
		for target, t := range g.targets {
			if target == omitted {
				if len(in.Targets) == 0 {
					t.omit(time.Now())
				}
				continue
			}
			t.omittedSince = time.Time{}
			if len(in.Targets) > 0 && !slices.ContainsFunc(in.Targets, func(d elbv2types.TargetDescription) bool { return named(d) == target }) {
				continue
			}
			shown[t] = t.health.State
			if t.health.State == elbv2.StateHealthy {
				g.lastShown[target] = modelShown{time.Now(), t.passedBy}
			}
			out.TargetHealthDescriptions = append(out.TargetHealthDescriptions, elbv2types.TargetHealthDescription{
				Target: &elbv2types.TargetDescription{Id: aws.String(target.ID), Port: aws.Int32(target.Port)},
				TargetHealth: &elbv2types.TargetHealth{
					State: elbv2types.TargetHealthStateEnum(t.health.State), Reason: elbv2types.TargetHealthReasonEnum(t.health.Reason),
					Description: aws.String(t.health.Description),
				},
			})
		}
		return nil
	})
	if err == nil {
		a.wasShown(shown)
	}
	return out, err
}

// omitted is the target that readings leave out while they do that, always the same one: the last by name.
func (a *modelAWS) omitted(g *modelGroup) (last elbv2.Target) {
	if a.fault("DescribeTargetHealth").kind != "omits" {
		return elbv2.Target{}
	}
	for target := range g.targets {
		if last == (elbv2.Target{}) || target.String() > last.String() {
			last = target
		}
	}
	return last
}

func (a *modelAWS) wasShown(states map[*modelTarget]elbv2.State) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for t, state := range states {
		t.shown = state
	}
}

func named(d elbv2types.TargetDescription) elbv2.Target {
	return elbv2.Target{ID: aws.ToString(d.Id), Port: aws.ToInt32(d.Port)}
}

// RegisterTargets implements elbv2.API.
func (a *modelAWS) RegisterTargets(ctx context.Context, in *awselbv2.RegisterTargetsInput, _ ...func(*awselbv2.Options)) (
	*awselbv2.RegisterTargetsOutput, error,
) {
	err := a.call(ctx, "RegisterTargets", *in.TargetGroupArn, func(g *modelGroup) error {
		for _, d := range in.Targets {
			g.register(named(d))
		}
		return nil
	})
	return &awselbv2.RegisterTargetsOutput{}, err
}

// DeregisterTargets implements elbv2.API.
func (a *modelAWS) DeregisterTargets(ctx context.Context, in *awselbv2.DeregisterTargetsInput, _ ...func(*awselbv2.Options)) (
	*awselbv2.DeregisterTargetsOutput, error,
) {
	arn := *in.TargetGroupArn
	err := a.call(ctx, "DeregisterTargets", arn, func(g *modelGroup) error {
		for _, d := range in.Targets {
			if t := g.targets[named(d)]; t != nil && t.health.State != elbv2.StateDraining {
				a.deregistering(arn, g, named(d))
				g.drain(named(d))
			}
		}
		return nil
	})
	return &awselbv2.DeregisterTargetsOutput{}, err
}
