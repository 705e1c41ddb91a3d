// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package incumbent

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// rememberFor is how long a reading of a group counts. Until then only the targets that were not healthy are read again, and what the
// controller registers itself is added: it does not see what others change.
const rememberFor = 5 * time.Minute

// key is what a target is called.
type key struct {
	address string
	port    int32
}

func (k key) String() string { return fmt.Sprintf("%s:%d", k.address, k.port) }

// target is one that a reading showed, or that was registered since. Its health is nil then.
type target struct {
	key
	health *elbv2types.TargetHealth
}

func (t *target) isIn(state elbv2types.TargetHealthStateEnum) bool {
	return t.health != nil && t.health.State == state
}

// groups are the target groups, as far as they are known. Safe for concurrent use.
type groups struct {
	aws *elbv2.Client

	mu       sync.Mutex
	readings map[string]*reading // by ARN
}

type reading struct {
	at      time.Time
	targets []target
}

func newGroups(url string) *groups {
	return &groups{readings: map[string]*reading{}, aws: elbv2.New(elbv2.Options{
		BaseEndpoint: aws.String(url), Region: "eu-west-1", AppID: "aws-load-balancer-controller",
		Credentials: credentials.NewStaticCredentialsProvider(AccessKey, "secret", ""),
	})}
}

// list are the targets of a group.
func (g *groups) list(ctx context.Context, arn string) ([]target, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.readings[arn]
	if r == nil || time.Since(r.at) > rememberFor {
		all, err := g.describe(ctx, arn, nil)
		if err != nil {
			return nil, err
		}
		r = &reading{at: time.Now(), targets: all}
		g.readings[arn] = r
		return slices.Clone(r.targets), nil
	}
	var healthy, others []target
	for _, t := range r.targets {
		if t.isIn(elbv2types.TargetHealthStateEnumHealthy) {
			healthy = append(healthy, t)
		} else {
			others = append(others, t)
		}
	}
	if len(others) > 0 {
		fresh, err := g.describe(ctx, arn, keys(others))
		if err != nil {
			return nil, err
		}
		healthy = append(healthy, slices.DeleteFunc(fresh, func(t target) bool {
			return t.isIn(elbv2types.TargetHealthStateEnumUnused) && t.health.Reason == elbv2types.TargetHealthReasonEnumNotRegistered
		})...)
	}
	r.targets = healthy
	return slices.Clone(r.targets), nil
}

func (g *groups) describe(ctx context.Context, arn string, only []key) ([]target, error) {
	out, err := g.aws.DescribeTargetHealth(ctx, &elbv2.DescribeTargetHealthInput{TargetGroupArn: &arn, Targets: descriptions(only)})
	if err != nil {
		return nil, err
	}
	var targets []target
	for _, d := range out.TargetHealthDescriptions {
		targets = append(targets, target{key{*d.Target.Id, *d.Target.Port}, d.TargetHealth})
	}
	return targets, nil
}

func (g *groups) register(ctx context.Context, arn string, list []key) error {
	if len(list) == 0 {
		return nil
	}
	_, err := g.aws.RegisterTargets(ctx, &elbv2.RegisterTargetsInput{TargetGroupArn: &arn, Targets: descriptions(list)})
	if err == nil {
		g.forgetHealth(arn, list, true)
	}
	return err
}

func (g *groups) deregister(ctx context.Context, arn string, list []key) error {
	if len(list) == 0 {
		return nil
	}
	_, err := g.aws.DeregisterTargets(ctx, &elbv2.DeregisterTargetsInput{TargetGroupArn: &arn, Targets: descriptions(list)})
	if err == nil {
		g.forgetHealth(arn, list, false)
	}
	return err
}

// forgetHealth has the next list read these targets.
func (g *groups) forgetHealth(arn string, list []key, add bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.readings[arn]
	if r == nil {
		return
	}
	for _, k := range list {
		i := slices.IndexFunc(r.targets, func(t target) bool { return t.key == k })
		switch {
		case i >= 0:
			r.targets[i].health = nil
		case add:
			r.targets = append(r.targets, target{key: k})
		}
	}
}

func descriptions(list []key) []elbv2types.TargetDescription {
	var out []elbv2types.TargetDescription
	for _, k := range list {
		out = append(out, elbv2types.TargetDescription{Id: aws.String(k.address), Port: aws.Int32(k.port)})
	}
	return out
}

func keys(list []target) []key {
	var out []key
	for _, t := range list {
		out = append(out, t.key)
	}
	return out
}

// compare says which endpoints are no targets, and which targets no endpoints; those that drain do not count.
func compare(found []endpoint, listed []target) (comers, leavers []key) {
	targets, endpoints := map[key]bool{}, map[key]bool{}
	for _, e := range found {
		endpoints[e.key] = true
	}
	for _, t := range listed {
		if t.isIn(elbv2types.TargetHealthStateEnumDraining) {
			continue
		}
		targets[t.key] = true
		if !endpoints[t.key] {
			leavers = append(leavers, t.key)
		}
	}
	for _, e := range found {
		if !targets[e.key] {
			comers = append(comers, e.key)
		}
	}
	return comers, leavers
}
