// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/aws/elbv2"
)

// API is safe for concurrent use. The zero value has no groups.
type API struct {
	// Before, when set, runs before every call, outside the lock; an error it returns is the call's answer.
	Before func(ctx context.Context, call Call) error

	// Refuse, when set, says whether a target may be registered with a zone ("" when none is named), in the order of
	// Call.Targets, outside the lock. The first error is the answer, and no target of the call is registered.
	Refuse func(target elbv2.Target, zone string) error

	// Omit, when set, says which targets readings leave out although they are registered. It may not call the API.
	Omit func(elbv2.Target) bool

	mu     sync.Mutex
	groups map[string]*group
	calls  []Call
}

type group struct {
	description types.TargetGroup
	targets     map[elbv2.Target]elbv2.Health
	tags        map[string]string
}

var _ elbv2.API = (*API)(nil)

// AddGroup adds a target group that has description's ARN.
func (a *API) AddGroup(description types.TargetGroup) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.groups == nil {
		a.groups = map[string]*group{}
	}
	a.groups[aws.ToString(description.TargetGroupArn)] = &group{
		description: description, targets: map[elbv2.Target]elbv2.Health{},
	}
}

// DeleteGroup deletes a target group with all that is in it.
func (a *API) DeleteGroup(arn string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.groups, arn)
}

// SetHealth gives a target a health, and registers it if it is not registered.
func (a *API) SetHealth(arn string, target elbv2.Target, health elbv2.Health) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.groups[arn].targets[target] = health
}

// SetTags replaces the group's tags.
func (a *API) SetTags(arn string, tags map[string]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.groups[arn].tags = tags
}

// Targets are the group's targets with their health, draining ones too.
func (a *API) Targets(arn string) map[elbv2.Target]elbv2.Health {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.groups[arn].targets)
}

// Forget lets a target vanish: one that has drained, or one that somebody else has removed.
func (a *API) Forget(arn string, target elbv2.Target) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.groups[arn].targets, target)
}

// Calls are the calls so far, of one operation, or of all when it is empty.
func (a *API) Calls(operation string) []Call {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []Call
	for _, call := range a.calls {
		if operation == "" || call.Operation == operation {
			out = append(out, call)
		}
	}
	return out
}

// begin records the call and finds its group.
func (a *API) begin(ctx context.Context, call Call) (*group, error) {
	if a.Before != nil {
		if err := a.Before(ctx, call); err != nil {
			return nil, err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, call)
	g, ok := a.groups[call.Group]
	if !ok {
		return nil, &types.TargetGroupNotFoundException{Message: aws.String(fmt.Sprintf("Target groups '%s' not found", call.Group))}
	}
	return g, nil
}

// DescribeTargetGroups finds one group by ARN or name.
func (a *API) DescribeTargetGroups(ctx context.Context, in *awselbv2.DescribeTargetGroupsInput, _ ...func(*awselbv2.Options)) (
	*awselbv2.DescribeTargetGroupsOutput, error,
) {
	arn := a.arnOf(in)
	g, err := a.begin(ctx, Call{Operation: "DescribeTargetGroups", Group: arn})
	if err != nil {
		return nil, err
	}
	return &awselbv2.DescribeTargetGroupsOutput{TargetGroups: []types.TargetGroup{g.description}}, nil
}

func (a *API) arnOf(in *awselbv2.DescribeTargetGroupsInput) string {
	if len(in.TargetGroupArns) > 0 {
		return in.TargetGroupArns[0]
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for arn, g := range a.groups {
		if aws.ToString(g.description.TargetGroupName) == in.Names[0] {
			return arn
		}
	}
	return in.Names[0]
}

// DescribeTargetGroupAttributes answers with a deregistration delay of 300 seconds.
func (a *API) DescribeTargetGroupAttributes(
	ctx context.Context, in *awselbv2.DescribeTargetGroupAttributesInput, _ ...func(*awselbv2.Options),
) (*awselbv2.DescribeTargetGroupAttributesOutput, error) {
	_, err := a.begin(ctx, Call{Operation: "DescribeTargetGroupAttributes", Group: aws.ToString(in.TargetGroupArn)})
	if err != nil {
		return nil, err
	}
	return &awselbv2.DescribeTargetGroupAttributesOutput{Attributes: []types.TargetGroupAttribute{
		{Key: aws.String("deregistration_delay.timeout_seconds"), Value: aws.String("300")},
	}}, nil
}

// DescribeTags answers with those of one group.
func (a *API) DescribeTags(ctx context.Context, in *awselbv2.DescribeTagsInput, _ ...func(*awselbv2.Options)) (
	*awselbv2.DescribeTagsOutput, error,
) {
	g, err := a.begin(ctx, Call{Operation: "DescribeTags", Group: in.ResourceArns[0]})
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	described := types.TagDescription{ResourceArn: &in.ResourceArns[0]}
	for key, value := range g.tags {
		described.Tags = append(described.Tags, types.Tag{Key: aws.String(key), Value: aws.String(value)})
	}
	return &awselbv2.DescribeTagsOutput{TagDescriptions: []types.TagDescription{described}}, nil
}

// DescribeTargetHealth answers with the whole group, or with what is asked for.
func (a *API) DescribeTargetHealth(ctx context.Context, in *awselbv2.DescribeTargetHealthInput, _ ...func(*awselbv2.Options)) (
	*awselbv2.DescribeTargetHealthOutput, error,
) {
	g, err := a.begin(ctx, callOf("DescribeTargetHealth", in.TargetGroupArn, in.Targets))
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	out := &awselbv2.DescribeTargetHealthOutput{}
	asked := maps.Clone(g.targets)
	if len(in.Targets) > 0 {
		asked = map[elbv2.Target]elbv2.Health{}
	}
	for _, t := range in.Targets {
		health, there := g.targets[targetOf(t)]
		if !there {
			health = elbv2.Health{State: elbv2.StateUnused, Reason: "Target.NotRegistered"}
		}
		asked[targetOf(t)] = health
	}
	for target, health := range asked {
		if a.Omit != nil && a.Omit(target) {
			continue
		}
		out.TargetHealthDescriptions = append(out.TargetHealthDescriptions, types.TargetHealthDescription{
			Target: describe(target, health.Zone),
			TargetHealth: &types.TargetHealth{
				State: types.TargetHealthStateEnum(health.State), Reason: types.TargetHealthReasonEnum(health.Reason),
				Description: aws.String(health.Description),
			},
		})
	}
	return out, nil
}

// RegisterTargets makes targets initial that are not registered yet: all of them, or none.
func (a *API) RegisterTargets(ctx context.Context, in *awselbv2.RegisterTargetsInput, _ ...func(*awselbv2.Options)) (
	*awselbv2.RegisterTargetsOutput, error,
) {
	g, err := a.begin(ctx, callOf("RegisterTargets", in.TargetGroupArn, in.Targets))
	if err != nil {
		return nil, err
	}
	if err := a.refused(in.Targets); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range in.Targets {
		if health, ok := g.targets[targetOf(t)]; !ok || health.State == elbv2.StateDraining {
			g.targets[targetOf(t)] = elbv2.Health{
				State: elbv2.StateInitial, Reason: elbv2.ReasonRegistrationInProgress,
				Description: elbv2.DescriptionRegistrationInProgress, Zone: aws.ToString(t.AvailabilityZone),
			}
		}
	}
	return &awselbv2.RegisterTargetsOutput{}, nil
}

// refused asks Refuse about each target.
func (a *API) refused(targets []types.TargetDescription) error {
	if a.Refuse == nil {
		return nil
	}
	for _, t := range slices.SortedFunc(slices.Values(targets), byName) {
		if err := a.Refuse(targetOf(t), aws.ToString(t.AvailabilityZone)); err != nil {
			return err
		}
	}
	return nil
}

// DeregisterTargets makes targets drain; ones that are not there are no error.
func (a *API) DeregisterTargets(ctx context.Context, in *awselbv2.DeregisterTargetsInput, _ ...func(*awselbv2.Options)) (
	*awselbv2.DeregisterTargetsOutput, error,
) {
	g, err := a.begin(ctx, callOf("DeregisterTargets", in.TargetGroupArn, in.Targets))
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range in.Targets {
		if health, ok := g.targets[targetOf(t)]; ok {
			g.targets[targetOf(t)] = elbv2.Health{
				State: elbv2.StateDraining, Reason: "Target.DeregistrationInProgress", Zone: health.Zone,
			}
		}
	}
	return &awselbv2.DeregisterTargetsOutput{}, nil
}
