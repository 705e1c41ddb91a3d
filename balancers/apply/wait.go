// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// How often what is waited for is asked about: load balancers take minutes, health checks and rules some seconds each.
const (
	activePause  = 10 * time.Second
	healthyPause = 5 * time.Second
)

// isWaitable reports whether what is waited for will ever be there: no step has failed to make it.
func (d *doing) isWaitable(wait *steps.Wait) bool {
	return wait == nil || slices.ContainsFunc([]stack.Ref{wait.Active, wait.Healthy, wait.Gone, wait.Open, wait.Settled},
		func(r stack.Ref) bool { return d.refs.ID(r) != "" })
}

// FailedPause is how often it is looked whether somebody has deleted a load balancer that AWS could not set up.
const FailedPause = 5 * time.Minute

// wait says when to look again whether what is waited for holds, 0 if it holds or nothing is waited for. What AWS does not find yet does
// not hold.
func (d *doing) wait(ctx context.Context, wait *steps.Wait) (pause time.Duration, err error) {
	pause, err = d.ask(ctx, wait)
	if err != nil && d.isUnshown(err, d.refs.ID(wait.Active), d.refs.ID(wait.Healthy)) {
		return unshownPause, nil
	}
	return pause, err
}

func (d *doing) ask(ctx context.Context, wait *steps.Wait) (pause time.Duration, err error) {
	switch w, none := (waits{d.ELB}), (stack.Ref{}); {
	case wait == nil:
		return 0, nil
	case wait.Active != none:
		return w.active(ctx, d.refs.ID(wait.Active))
	case wait.Gone != none:
		return d.gone(wait.Gone.ID), nil
	case wait.Healthy != none:
		return w.healthy(ctx, d.refs.ID(wait.Healthy), d.refs.ID(wait.Instead))
	case wait.Open != none: // as it was seen when the plan was made
		return min(d.pass.Closed, healthyPause), nil
	default:
		return d.pass.Unsettled(d.refs.ID(wait.Settled)), nil
	}
}

// gone is without a call: a load balancer that is waited for goes in the same pass, or not at all.
func (d *doing) gone(arn string) time.Duration {
	isDeleted := func(s steps.Step) bool {
		c, ok := s.Change.(steps.DeleteLoadBalancer)
		return ok && c.LoadBalancer.ID == arn
	}
	if slices.ContainsFunc(d.result.Done, isDeleted) {
		return 0
	}
	return activePause
}

// waits asks whether what is waited for holds.
type waits struct{ ELB }

func (w waits) active(ctx context.Context, arn string) (time.Duration, error) {
	out, err := w.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{LoadBalancerArns: []string{arn}})
	if err != nil {
		return 0, err
	}
	for _, b := range out.LoadBalancers {
		switch {
		case b.State == nil:
		case b.State.Code == types.LoadBalancerStateEnumActive || b.State.Code == types.LoadBalancerStateEnumActiveImpaired:
			return 0, nil
		case b.State.Code == types.LoadBalancerStateEnumFailed:
			return FailedPause, nil
		}
	}
	return activePause, nil
}

func (w waits) healthy(ctx context.Context, arn, instead string) (time.Duration, error) {
	healthy, awaited, err := w.health(ctx, arn)
	if err != nil || healthy > 0 && awaited == 0 {
		return 0, err
	}
	if instead == "" {
		return 0, nil
	}
	serving, _, err := w.health(ctx, instead)
	if isGone(err) {
		return 0, nil
	}
	if err != nil || serving == 0 {
		return 0, err
	}
	return healthyPause, nil
}

// health counts the healthy targets of a target group, and those whose first health check is awaited.
func (w waits) health(ctx context.Context, arn string) (healthy, awaited int, err error) {
	out, err := w.DescribeTargetHealth(ctx, &elbv2.DescribeTargetHealthInput{TargetGroupArn: aws.String(arn)})
	if err != nil {
		return 0, 0, err
	}
	for _, t := range out.TargetHealthDescriptions {
		switch {
		case t.TargetHealth == nil:
		case t.TargetHealth.State == types.TargetHealthStateEnumHealthy:
			healthy++
		case t.TargetHealth.State == types.TargetHealthStateEnumInitial:
			awaited++
		}
	}
	return healthy, awaited, nil
}
