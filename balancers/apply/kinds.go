// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"reflect"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// Made is what a step has made.
type Made struct {
	ID      string // ARN, or ID of a security group
	DNSName string // of a load balancer
	Name    string // of a load balancer or a security group, which may not be the wanted one
	Adopted bool   // it was there already: what it has is to be read
}

// row is one type of change, which doers of type D do when its references have their IDs.
type row[D any] struct {
	of     reflect.Type
	effect effect
	do     func(D, context.Context, steps.Change) (Made, error)
}

// kind is one that a pass does.
type kind = row[*doing]

// kinds has a row for each type of change.
var kinds = table(
	rows((*doing).securityGroups,
		create(makes, securityGroups.create),
		change(removes, securityGroups.revoke),
		change(removes, securityGroups.delete),
	),
	rows(func(d *doing) targetGroups { return targetGroups{d.ELB, d.owner(), d.VPC} },
		create(makes, targetGroups.create),
		change(sets, targetGroups.setHealthCheck),
		change(sets, targetGroups.setAttributes),
		change(makes, targetGroups.registerLoadBalancer),
		change(removes, targetGroups.delete),
	),
	rows(func(d *doing) loadBalancers { return loadBalancers{d.ELB, d.owner()} },
		create(makes, loadBalancers.create),
		change(sets, loadBalancers.setSubnets),
		change(moves, loadBalancers.setSecurityGroups),
		change(sets, loadBalancers.setAddressType),
		change(sets, loadBalancers.setAttributes),
		change(sets, loadBalancers.setIPAMPool),
		change(sets, loadBalancers.setCapacity),
		change(removes, loadBalancers.delete),
	),
	rows(func(d *doing) guards { return guards{d.WAF, d.WAFClassic, d.Shield} },
		change(sets, guards.setWebACL),
		change(sets, guards.setClassicACL),
		change(sets, guards.protect),
		change(sets, guards.unprotect),
	),
	rows(func(d *doing) listeners { return listeners{d.ELB} },
		create(makes, listeners.create),
		change(moves, listeners.modify),
		change(sets, listeners.setAttributes),
		change(makes, listeners.addCertificate),
		change(removes, listeners.removeCertificate),
		change(removes, listeners.delete),
	),
	rows(func(d *doing) rules { return rules{d.ELB} },
		create(makes, rules.create),
		change(moves, rules.modify),
		change(moves, rules.setPriorities),
		change(removes, rules.delete),
	),
	rows(func(d *doing) tags { return tags{d.ELB, d.EC2} },
		change(sets, tags.tag),
		change(sets, tags.untag),
	),
	rows(func(d *doing) bindings { return bindings{d.Bindings} },
		change(makes, bindings.create),
		change(makes, bindings.update),
		change(removes, bindings.delete),
	),
	rows(func(d *doing) authorizer { return authorizer{d, d.securityGroups()} },
		change(makes, authorizer.authorize),
	),
	[]kind{
		change(sets, (*doing).nothing),
	},
)

func table(parts ...[]kind) map[reflect.Type]kind {
	out := map[reflect.Type]kind{}
	for _, row := range slices.Concat(parts...) {
		out[row.of] = row
	}
	return out
}

// rows are those of a doer, which takes of a pass what it needs.
func rows[D any](doer func(*doing) D, rows ...row[D]) (out []kind) {
	for _, r := range rows {
		do := func(d *doing, ctx context.Context, c steps.Change) (Made, error) { return r.do(doer(d), ctx, c) }
		out = append(out, kind{r.of, r.effect, do})
	}
	return out
}

func create[D any, C steps.Change](e effect, do func(D, context.Context, C) (Made, error)) row[D] {
	return row[D]{reflect.TypeFor[C](), e, func(d D, ctx context.Context, c steps.Change) (Made, error) { return do(d, ctx, c.(C)) }}
}

func change[D any, C steps.Change](e effect, do func(D, context.Context, C) error) row[D] {
	return create(e, func(d D, ctx context.Context, c C) (Made, error) { return Made{}, do(d, ctx, c) })
}

// logChange tells of a change that was accepted; a few may have been so already. The logger has the group's name. Tags are many, as each
// rule has one with its place.
func logChange(ctx context.Context, change steps.Change, made Made) {
	message, log := "Changed AWS", ctrl.LoggerFrom(ctx)
	switch change.(type) {
	case steps.Nothing:
		return
	case steps.CreateBinding, steps.UpdateBinding, steps.DeleteBinding:
		message = "Changed a TargetGroupBinding"
	case steps.Tag, steps.Untag:
		log = log.V(1)
	}
	if made.ID != "" {
		log = log.WithValues("id", made.ID)
	}
	if made.Name != "" {
		log = log.WithValues("name", made.Name)
	}
	if made.Adopted {
		message = "Adopted what already existed in AWS"
	}
	log.Info(message, "step", steps.LogText(change))
}

// Removes reports whether the change takes something away: a group is not done before it is made.
func Removes(change steps.Change) bool { return kinds[reflect.TypeOf(change)].effect == removes }

// Sets reports whether the change is a setting that nothing else depends on.
func Sets(change steps.Change) bool { return kinds[reflect.TypeOf(change)].effect == sets }

// partOf is how later steps of a stack of that kind name what the change makes, "" when it makes nothing that has an ID.
func partOf(change steps.Change, kind stack.Kind) string {
	switch c := change.(type) {
	case steps.CreateSecurityGroup:
		return kind.PartOf(c.Group.Tags)
	case steps.CreateTargetGroup:
		return c.Group.Part
	case steps.CreateLoadBalancer:
		return kind.PartOf(c.LoadBalancer.Tags)
	case steps.CreateListener:
		return c.Listener.Part()
	case steps.CreateRule:
		return c.Part
	}
	return ""
}

// nothing is the change of a step that is there for its wait.
func (d *doing) nothing(context.Context, steps.Nothing) error { return nil }
