// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/aws/budget"
)

// MaxTargetsPerCall is how many targets one Register or Deregister sends at most. AWS documents no limit; this is
// what users of the incumbent have run for years.
const MaxTargetsPerCall = 200

// Target is one target of a target group: an address or an instance ID, and a port.
type Target struct {
	ID   string
	Port int32
}

// NewTarget is the target with the ID as readings name it: an IPv6 address in its canonical text form.
func NewTarget(id string, port int32) Target {
	return Target{ID: canonical(id), Port: port}
}

// String is id:port, with brackets around an IPv6 address.
func (t Target) String() string {
	return net.JoinHostPort(t.ID, strconv.Itoa(int(t.Port)))
}

// State is the load balancer's word for how a target is.
type State string

// The states of a target.
const (
	StateInitial           State = "initial"
	StateHealthy           State = "healthy"
	StateUnhealthy         State = "unhealthy"
	StateUnhealthyDraining State = "unhealthy.draining"
	StateUnused            State = "unused"
	StateDraining          State = "draining"
	StateUnavailable       State = "unavailable"
)

const (
	// ReasonRegistrationInProgress is the reason of a target from RegisterTargets until its first health check.
	ReasonRegistrationInProgress = "Elb.RegistrationInProgress"
	// ReasonNotInUse is the reason of a target whose group is attached to no load balancer, or that is in a zone which the
	// load balancer is not in.
	ReasonNotInUse = "Target.NotInUse"
	// DescriptionRegistrationInProgress is AWS's text for that reason.
	DescriptionRegistrationInProgress = "Target registration is in progress"
)

// Health is a target's state with AWS's own reason and description; both are empty for a healthy target.
type Health struct {
	State       State
	Reason      string
	Description string
	Zone        string // the Availability Zone that AWS reports; may be empty
}

// Batch yields the targets of one call, at most MaxTargetsPerCall, and for each the Availability Zone to name: "" lets
// AWS detect it, ZoneAll is for addresses outside the VPC. It is called when the budget has granted the call, so that
// what became due while the call waited goes with it; not at all when there are no credentials to call with. An empty
// batch cancels the call.
type Batch func() map[Target]string

// Register adds targets to the group, in one attempt: what to do after a failure, and with which targets, is the
// caller's to say. The class is budget.ClassRegister, or budget.ClassOther for what AWS has refused again and again. A nil error means
// that AWS has accepted all of them, not that they are registered yet; on an error that is no refusal (HadNoEffect) some or all
// may have been accepted.
func (c *Client) Register(ctx context.Context, urgency budget.Urgency, arn string, batch Batch) error {
	err := c.send(ctx, urgency, "RegisterTargets", batch, func(ctx context.Context, targets []types.TargetDescription) error {
		_, err := c.api.RegisterTargets(ctx, &awselbv2.RegisterTargetsInput{TargetGroupArn: &arn, Targets: targets}, c.options(once)...)
		return err
	})
	return callError("registering targets in", arn, err)
}

// deregisterTimeout is short: the pods of the next batch wait for the answer, and to ask again does no harm.
const deregisterTimeout = 5 * time.Second

// Deregister removes targets from the group, in one attempt of at most 5 s; a target that is not there is no error. The class is
// budget.ClassDeregister, or budget.ClassOther for what AWS has refused again and again. A nil error means that AWS has accepted all of
// them: they drain from now on.
func (c *Client) Deregister(ctx context.Context, urgency budget.Urgency, arn string, batch Batch) error {
	err := c.send(ctx, urgency, "DeregisterTargets", batch, func(ctx context.Context, targets []types.TargetDescription) error {
		ctx, cancel := context.WithTimeout(ctx, deregisterTimeout)
		defer cancel()
		_, err := c.api.DeregisterTargets(ctx, &awselbv2.DeregisterTargetsInput{TargetGroupArn: &arn, Targets: targets}, c.options(once)...)
		return err
	})
	return callError("deregistering targets from", arn, err)
}

// Short reports whether so few registrations and deregistrations are left in the budget that they should be spent with care.
func (c *Client) Short() bool {
	return c.session.Budget().Short(budget.ELBv2, "RegisterTargets")
}

// once keeps the SDK from trying again: the targets of the next attempt may be others.
func once(o *awselbv2.Options) { o.Retryer = aws.NopRetryer{} }

// begin takes a token for the only attempt of the operation, and returns the context to send it with. What it returns with
// an error is nothing.
func (c *Client) begin(ctx context.Context, urgency budget.Urgency, operation string) (context.Context, *budget.Token, error) {
	ctx, err := c.session.Prepare(ctx, urgency.Class, c.tenant)
	if err != nil {
		return nil, nil, err
	}
	charge := budget.ChargeOf(ctx)
	charge.Urgency = urgency
	token, err := charge.Budget.Take(budget.WithCharge(ctx, charge), budget.ELBv2, operation)
	return budget.WithCharge(ctx, charge.Paid()), token, err
}

// send takes a token for the operation, then the batch, and sends it.
func (c *Client) send(ctx context.Context, urgency budget.Urgency, operation string, batch Batch,
	call func(context.Context, []types.TargetDescription) error,
) error {
	if err := c.session.Budget().Coalesce(ctx, urgency, budget.ELBv2, operation); err != nil {
		return err
	}
	ctx, token, err := c.begin(ctx, urgency, operation)
	if err != nil {
		return err
	}
	targets := batch()
	if len(targets) == 0 {
		token.Refund()
		return nil
	}
	defer token.Answered()
	return call(ctx, descriptions(targets))
}

// Ask yields the targets that a reading is about; nil is the whole group. It is called when the budget has granted the
// call: the answer is from then or later.
type Ask func() []Target

// WholeGroup asks for every target of the group.
func WholeGroup() []Target { return nil }

// reasonNotRegistered is of a target that was asked for and is not there.
const reasonNotRegistered = "Target.NotRegistered"

// Health reads the health of the targets that are asked for, in one attempt; those that are not there are not in the
// answer, which is not to be changed. IPv6 addresses come in their canonical text form (RFC 5952), however AWS spells them.
// Class is budget.ClassWaitingHealth when a pod waits for the answer, else budget.ClassOther. Readings of one group, class and tenant with
// the same identity that wait for a token at the same time are one call.
func (c *Client) Health(ctx context.Context, class budget.Class, arn string, ask Ask) (map[Target]Health, error) {
	key := readingKey{session: c.session, tenant: c.tenant, class: class, group: arn}
	return c.readings.read(ctx, key, ask, func(ctx context.Context, ask Ask) (map[Target]Health, error) {
		return c.health(ctx, class, arn, ask)
	})
}

func (c *Client) health(ctx context.Context, class budget.Class, arn string, ask Ask) (map[Target]Health, error) {
	ctx, token, err := c.begin(ctx, class.Now(), "DescribeTargetHealth")
	if err != nil {
		return nil, callError("describing target health of", arn, err)
	}
	defer token.Answered()
	in := &awselbv2.DescribeTargetHealthInput{TargetGroupArn: &arn}
	for _, t := range ask() {
		in.Targets = append(in.Targets, types.TargetDescription{Id: aws.String(t.ID), Port: aws.Int32(t.Port)})
	}
	out, err := c.api.DescribeTargetHealth(ctx, in, c.options(once)...)
	if err != nil {
		return nil, callError("describing target health of", arn, err)
	}
	health := make(map[Target]Health, len(out.TargetHealthDescriptions))
	for _, d := range out.TargetHealthDescriptions {
		if d.Target == nil || d.TargetHealth == nil {
			return nil, fmt.Errorf("describing target health of %s: an answer without target or health", arn)
		}
		if d.TargetHealth.Reason == reasonNotRegistered {
			continue
		}
		target := NewTarget(aws.ToString(d.Target.Id), aws.ToInt32(d.Target.Port))
		health[target] = Health{
			State:       State(d.TargetHealth.State),
			Reason:      string(d.TargetHealth.Reason),
			Description: aws.ToString(d.TargetHealth.Description),
			Zone:        aws.ToString(d.Target.AvailabilityZone),
		}
	}
	return health, nil
}

func descriptions(targets map[Target]string) []types.TargetDescription {
	out := make([]types.TargetDescription, 0, len(targets))
	for t, zone := range targets {
		d := types.TargetDescription{Id: aws.String(t.ID), Port: aws.Int32(t.Port)}
		if zone != "" {
			d.AvailabilityZone = aws.String(zone)
		}
		out = append(out, d)
	}
	return out
}
