// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"reflect"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/balancers/steps"
)

// row is one type of change, which doers of type D do when its references have their IDs.
type row[D any] struct {
	of reflect.Type
	do func(D, context.Context, steps.Change) (steps.Made, error)
}

// kind is one that a pass does.
type kind = row[*doing]

// kinds has a row for each type of change.
var kinds = table(
	rows((*doing).securityGroups,
		create(securityGroups.create),
		change(securityGroups.revoke),
		change(securityGroups.delete),
	),
	rows(func(d *doing) targetGroups { return targetGroups{d.ELB, d.owner(), d.VPC} },
		create(targetGroups.create),
		change(targetGroups.setHealthCheck),
		change(targetGroups.setAttributes),
		change(targetGroups.registerLoadBalancer),
		change(targetGroups.delete),
	),
	rows(func(d *doing) loadBalancers { return loadBalancers{d.ELB, d.owner()} },
		create(loadBalancers.create),
		change(loadBalancers.setSubnets),
		change(loadBalancers.setSecurityGroups),
		change(loadBalancers.setAttributes),
		change(loadBalancers.delete),
	),
	rows(func(d *doing) settings { return settings{d.ELB, d.WAF, d.WAFClassic} },
		change(settings.set),
	),
	rows(func(d *doing) protections { return protections{d.Shield} },
		change(protections.protect),
		change(protections.unprotect),
	),
	rows(func(d *doing) listeners { return listeners{d.ELB} },
		create(listeners.create),
		change(listeners.modify),
		change(listeners.setAttributes),
		change(listeners.addCertificate),
		change(listeners.removeCertificate),
		change(listeners.delete),
	),
	rows(func(d *doing) rules { return rules{d.ELB} },
		create(rules.create),
		change(rules.modify),
		change(rules.setPriorities),
		change(rules.delete),
	),
	rows(func(d *doing) tags { return tags{d.ELB, d.EC2} },
		change(tags.tag),
		change(tags.untag),
	),
	rows(func(d *doing) bindings { return bindings{d.Bindings} },
		change(bindings.create),
		change(bindings.update),
		change(bindings.delete),
	),
	rows(func(d *doing) authorizer { return authorizer{d, d.securityGroups()} },
		change(authorizer.authorize),
	),
	[]kind{
		change((*doing).nothing),
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
		do := func(d *doing, ctx context.Context, c steps.Change) (steps.Made, error) { return r.do(doer(d), ctx, c) }
		out = append(out, kind{r.of, do})
	}
	return out
}

func create[D any, C steps.Change](do func(D, context.Context, C) (steps.Made, error)) row[D] {
	return row[D]{reflect.TypeFor[C](), func(d D, ctx context.Context, c steps.Change) (steps.Made, error) { return do(d, ctx, c.(C)) }}
}

func change[D any, C steps.Change](do func(D, context.Context, C) error) row[D] {
	return create(func(d D, ctx context.Context, c C) (steps.Made, error) { return steps.Made{}, do(d, ctx, c) })
}

// logChange tells of a change that was accepted; a few may have been so already. The logger has the group's name. Tags are many, as each
// rule has one with its place.
func logChange(ctx context.Context, change steps.Change, made steps.Made) {
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

// nothing is the change of a step that is there for its wait.
func (d *doing) nothing(context.Context, steps.Nothing) error { return nil }
