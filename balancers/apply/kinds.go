// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"reflect"

	"github.com/targetgate/targetgate/balancers/steps"
)

// Made is what a step has made.
type Made struct {
	ID      string // ARN, or ID of a security group
	DNSName string // of a load balancer
}

// doer does one change, whose references have their IDs.
type doer func(*doing, context.Context, steps.Change) (Made, error)

// kind is one kind of change.
type kind struct {
	of     reflect.Type
	effect effect
	do     doer
}

// kinds has a row for each type of change.
var kinds = table(
	create(makes, (*doing).createSecurityGroup),
	change(makes, (*doing).authorize),
	change(removes, (*doing).revoke),
	change(removes, (*doing).deleteSecurityGroup),

	create(makes, (*doing).createTargetGroup),
	change(sets, (*doing).setHealthCheck),
	change(sets, (*doing).setTargetGroupAttributes),
	change(makes, (*doing).registerLoadBalancer),
	change(removes, (*doing).deleteTargetGroup),

	create(makes, (*doing).createLoadBalancer),
	change(sets, (*doing).setSubnets),
	change(moves, (*doing).setSecurityGroups),
	change(sets, (*doing).setAddressType),
	change(sets, (*doing).setLoadBalancerAttributes),
	change(sets, (*doing).setIPAMPool),
	change(sets, (*doing).setCapacity),
	change(sets, (*doing).setWebACL),
	change(sets, (*doing).setClassicACL),
	change(sets, (*doing).protect),
	change(sets, (*doing).unprotect),
	change(removes, (*doing).deleteLoadBalancer),

	create(makes, (*doing).createListener),
	change(moves, (*doing).modifyListener),
	change(sets, (*doing).setListenerAttributes),
	change(makes, (*doing).addCertificate),
	change(removes, (*doing).removeCertificate),
	change(removes, (*doing).deleteListener),

	create(makes, (*doing).createRule),
	change(moves, (*doing).modifyRule),
	change(moves, (*doing).setPriorities),
	change(removes, (*doing).deleteRule),

	change(sets, (*doing).tag),
	change(sets, (*doing).untag),

	change(sets, (*doing).nothing),

	change(makes, (*doing).createBinding),
	change(makes, (*doing).updateBinding),
	change(removes, (*doing).deleteBinding),
)

func table(rows ...kind) map[reflect.Type]kind {
	out := make(map[reflect.Type]kind, len(rows))
	for _, row := range rows {
		out[row.of] = row
	}
	return out
}

func create[C steps.Change](e effect, do func(*doing, context.Context, C) (Made, error)) kind {
	return kind{of: reflect.TypeFor[C](), effect: e, do: func(d *doing, ctx context.Context, c steps.Change) (Made, error) {
		return do(d, ctx, c.(C))
	}}
}

func change[C steps.Change](e effect, do func(*doing, context.Context, C) error) kind {
	return create(e, func(d *doing, ctx context.Context, c C) (Made, error) { return Made{}, do(d, ctx, c) })
}

// Removes reports whether the change takes something away: a group is not done before it is made.
func Removes(change steps.Change) bool { return kinds[reflect.TypeOf(change)].effect == removes }

// part is how later steps name what the change makes, "" when it makes nothing that has an ID.
func (d *doing) part(change steps.Change) string {
	switch c := change.(type) {
	case steps.CreateSecurityGroup:
		return d.resource(c.Group.Tags)
	case steps.CreateTargetGroup:
		return c.Group.Part
	case steps.CreateLoadBalancer:
		return d.resource(c.LoadBalancer.Tags)
	case steps.CreateListener:
		return c.Listener.Part()
	case steps.CreateRule:
		return c.Part
	}
	return ""
}
