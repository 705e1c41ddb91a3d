// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/elbv2"
)

// The model's load balancers: a first check 2 s after the registration, one pass for a new target.
const (
	modelLatency    = 40 * time.Millisecond
	modelInterval   = 10 * time.Second
	modelDrains     = 30 * time.Second
	modelFirstCheck = 2 * time.Second
)

// modelAWS is ELBv2 with health checks, draining and faults.
type modelAWS struct {
	mu     sync.Mutex
	groups map[string]*modelGroup
	faults map[string]modelFault // by operation, empty for all
	serves func(arn string, target elbv2.Target) (uid types.UID, ok bool)

	deregistering func(arn string, g *modelGroup, target elbv2.Target) // called for each target that is about to drain
}

type modelGroup struct {
	gone, foreign, denied, noAttributes bool // for good: deleted, of another account, IAM says no
	unattached                          bool
	touched                             time.Time // by somebody else
	owner                               string    // the cluster that its tags name
	protocol                            elbv2types.ProtocolEnum
	targets                             map[elbv2.Target]*modelTarget
	lastShown                           map[elbv2.Target]modelShown // the last time that a reading said healthy
	outsiders                           map[elbv2.Target]bool       // another cluster's: never to be deregistered
	serving                             map[elbv2.Target]bool       // of these and of nobody's, those that answer
	added                               map[elbv2.Target]bool       // by somebody else, ever
	unclear                             map[elbv2.Target]bool       // nobody's, or another cluster's for all that anyone can tell: may stay
	calls                               []modelCall
}

type modelCall struct {
	operation string
	at        time.Time
}

type modelShown struct {
	at  time.Time
	uid types.UID
}

type modelTarget struct {
	health       elbv2.Health
	registeredAt time.Time // the last RegisterTargets
	drainedAt    time.Time
	nextCheck    time.Time
	fails        int
	passedBy     types.UID   // who has answered the last check that passed
	healthyAt    time.Time   // the last moment at which it was healthy
	shown        elbv2.State // what the last reading said of it, empty before the first one
	omittedSince time.Time   // the first reading of the group that left it out, zero once another one shows it
	forgettable  bool        // two have, one after the other: it may be forgotten
	wasForgotten bool        // a reading has left it out since it came
}

// omit notes that a reading of the group leaves the target out. The first one may have had its effect 3 s late.
func (t *modelTarget) omit(now time.Time) {
	if t.omittedSince.IsZero() {
		t.omittedSince = now
	}
	t.forgettable = t.forgettable || now.Sub(t.omittedSince) > elbv2.OmissionTime-4*time.Second
	t.wasForgotten = true
}

// modelFault is what happens to calls until it ends.
type modelFault struct {
	kind  string
	until time.Time
}

func newModelAWS() *modelAWS {
	return &modelAWS{groups: map[string]*modelGroup{}, faults: map[string]modelFault{}}
}

func newModelGroup() *modelGroup {
	return &modelGroup{
		protocol: elbv2types.ProtocolEnumHttp, targets: map[elbv2.Target]*modelTarget{}, lastShown: map[elbv2.Target]modelShown{},
		outsiders: map[elbv2.Target]bool{}, serving: map[elbv2.Target]bool{}, unclear: map[elbv2.Target]bool{},
		added: map[elbv2.Target]bool{},
	}
}

func awsError(code, message string) error {
	return &smithy.GenericAPIError{Code: code, Message: message}
}

// call lets effect happen as the faults have it. Effect runs with the lock held.
func (a *modelAWS) call(ctx context.Context, operation, arn string, effect func(g *modelGroup) error) error {
	time.Sleep(modelLatency)
	fault := a.begin(operation, arn)
	switch fault.kind {
	case "throttle":
		return awsError("Throttling", "Rate exceeded")
	case "internal":
		return awsError("InternalFailure", "An internal error")
	case "denied":
		return awsError("AccessDenied", "not authorized to perform "+operation)
	case "lateEffect":
		if err := waitFor(ctx, 3*time.Second); err != nil {
			return err
		}
	}
	err := a.effect(operation, arn, effect)
	switch fault.kind {
	case "lost":
		return errors.New("no answer: connection reset by peer")
	case "late":
		return errors.Join(err, waitFor(ctx, 4*time.Second))
	}
	return err
}

func waitFor(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *modelAWS) begin(operation, arn string) modelFault {
	a.mu.Lock()
	defer a.mu.Unlock()
	if g := a.groups[arn]; g != nil {
		g.calls = append(g.calls, modelCall{operation, time.Now()})
	}
	return a.fault(operation)
}

// fault is that of the operation's calls now. It is called with the lock held.
func (a *modelAWS) fault(operation string) modelFault {
	for _, op := range []string{"", operation} {
		if fault := a.faults[op]; time.Now().Before(fault.until) {
			return fault
		}
	}
	return modelFault{}
}

func (a *modelAWS) effect(operation, arn string, effect func(g *modelGroup) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	g := a.groups[arn]
	switch {
	case g == nil || g.gone:
		return &elbv2types.TargetGroupNotFoundException{Message: aws.String("One or more target groups not found")}
	case g.foreign:
		return awsError("ValidationError", fmt.Sprintf("'%s' is not a valid target group ARN", arn))
	case g.denied, g.noAttributes && operation == "DescribeTargetGroupAttributes":
		return awsError("AccessDenied", "not authorized to perform "+operation)
	}
	return effect(g)
}

// disturbed reports whether a fault is active.
func (a *modelAWS) disturbed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, fault := range a.faults {
		if time.Now().Before(fault.until) {
			return true
		}
	}
	return false
}

func (g *modelGroup) register(target elbv2.Target) {
	t := g.targets[target]
	if t == nil || t.health.State == elbv2.StateDraining {
		t = &modelTarget{nextCheck: time.Now().Add(modelFirstCheck), health: elbv2.Health{
			State: elbv2.StateInitial, Reason: elbv2.ReasonRegistrationInProgress, Description: elbv2.DescriptionRegistrationInProgress,
		}}
		g.targets[target] = t
	}
	t.registeredAt, t.forgettable = time.Now(), false
}

func (g *modelGroup) drain(target elbv2.Target) {
	t := g.targets[target]
	t.health = elbv2.Health{State: elbv2.StateDraining, Reason: "Target.DeregistrationInProgress"}
	t.drainedAt = time.Now().Add(modelDrains)
}

// tick lets time pass at the load balancers.
func (a *modelAWS) tick(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for arn, g := range a.groups {
		for target, t := range g.targets {
			if t.health.State == elbv2.StateDraining {
				if !now.Before(t.drainedAt) {
					delete(g.targets, target)
				}
				continue
			}
			t.check(now, g.unattached, func() (types.UID, bool) {
				if isOutsider(target) {
					return "outsider", g.serving[target]
				}
				return a.serves(arn, target)
			})
		}
	}
}

func (t *modelTarget) check(now time.Time, unattached bool, serves func() (types.UID, bool)) {
	switch {
	case unattached:
		t.health = elbv2.Health{
			State: elbv2.StateUnused, Reason: elbv2.ReasonNotInUse,
			Description: "Target group is not configured to receive traffic from the load balancer",
		}
		t.nextCheck = now.Add(modelFirstCheck)
	case !now.Before(t.nextCheck):
		t.nextCheck = now.Add(modelInterval)
		if uid, ok := serves(); ok {
			t.fails, t.passedBy, t.health = 0, uid, elbv2.Health{State: elbv2.StateHealthy}
		} else if t.fails++; t.fails >= 2 || t.health.State != elbv2.StateHealthy {
			t.health = elbv2.Health{State: elbv2.StateUnhealthy, Reason: "Target.Timeout", Description: "Request timed out"}
		}
	}
	if t.health.State == elbv2.StateHealthy {
		t.healthyAt = now
	}
}
