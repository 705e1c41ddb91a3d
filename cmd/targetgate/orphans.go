// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers"
	"github.com/targetgate/targetgate/balancers/ingress/preview"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/cmd/targetgate/command"
)

// orphansCommand runs orphans with these arguments and returns the exit code.
func orphansCommand(ctx context.Context, args []string, out, errOut io.Writer) int {
	ctrl.SetLogger(logr.Discard())
	opts, err := parseOrphansOptions(args, out)
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	code := 0
	if err == nil {
		code, err = opts.run(ctx, out)
	}
	if err != nil {
		fmt.Fprintf(errOut, "targetgate %s: %v\n", orphansName, err)
		return 1
	}
	return code
}

// run lists or deletes, and returns the exit code.
//
// The command itself deletes, by the passes of the controller, with the rights of who runs it: those are written down in AWS's own log, and
// nobody who may write to the cluster alone can have load balancers deleted, as with a mark that the controller honours. The controller
// leaves a load balancer without Ingresses alone, so that the two are not in each other's way.
func (o *orphansOptions) run(ctx context.Context, out io.Writer) (int, error) {
	c, _, err := command.Connect(o.Kubeconfig, o.Context, "", nil)
	if err != nil {
		return 0, err
	}
	r, err := o.newReconciler(ctx, c)
	if err != nil {
		return 0, err
	}
	list, err := r.Orphans(ctx)
	if err != nil {
		return 0, err
	}
	never := ""
	if len(o.WatchNamespaces) > 0 {
		never = "a targetgate with --watch-namespace deletes none"
	}
	report := preview.OrphansOf(list, never)
	switch {
	case len(o.Delete) > 0:
		return 0, (&remover{Reconciler: r, client: c, out: out, timeout: o.Timeout}).removeAll(ctx, report, o.Delete)
	case o.Output == "json":
		err = command.PrintJSON(out, report)
	default:
		err = report.Text(out)
	}
	if len(list) > 0 {
		return 2, err
	}
	return 0, err
}

// newReconciler reads the Ingresses of all namespaces, as any may name a group.
func (o *orphansOptions) newReconciler(ctx context.Context, c client.Client) (*balancers.Reconciler, error) {
	aws, err := newAWS(ctx, &o.options)
	if err != nil {
		return nil, err
	}
	if o.Provision.Ingress.VPC, err = aws.ownVPC(ctx); err != nil {
		return nil, err
	}
	calls := newProvisionCalls(aws)
	view := newView(&o.options, calls)
	r, _ := newReconciler(&o.options, view, newAnswerer(&o.options, calls), preview.NewSnapshot(c, nil))
	r.Stacks, r.Applier = view, newApplier(&o.options, aws, calls, view, c)
	return r, nil
}

// remover deletes what is named. Each pass reads the cluster anew: an Ingress that comes keeps its load balancer.
type remover struct {
	*balancers.Reconciler
	client  client.Client
	out     io.Writer
	timeout time.Duration
}

// removeAll deletes nothing unless all names are those of orphans that may be deleted.
func (r *remover) removeAll(ctx context.Context, report preview.Orphans, names []string) error {
	var groups []string
	var faults []error
	for _, name := range names {
		switch orphan, found := report.Find(name); {
		case !found:
			faults = append(faults, fmt.Errorf("--delete=%s: is neither a group nor a load balancer of the list (see targetgate orphans)", name))
		case orphan.Refused:
			faults = append(faults, fmt.Errorf("--delete=%s: %s", name, orphan.Kept))
		default:
			groups = append(groups, orphan.Group)
		}
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	for _, group := range groups {
		if err := r.remove(ctx, group); err != nil {
			faults = append(faults, fmt.Errorf("deleting what was made for group %s: %w", group, err))
		}
	}
	return errors.Join(faults...)
}

// remove makes passes until nothing is left of the group.
func (r *remover) remove(ctx context.Context, group string) error {
	fmt.Fprintf(r.out, "Group %s:\n", group)
	for {
		r.Client = preview.NewSnapshot(r.client, nil)
		removal, err := r.Remove(ctx, stack.GroupNamed(group))
		if err := preview.Removal(r.out, removal.Done); err != nil {
			return err
		}
		if err != nil {
			return err
		}
		if removal.Again == 0 {
			fmt.Fprintln(r.out, "  nothing is left")
			return nil
		}
		select {
		case <-ctx.Done():
			if len(removal.Waits) == 0 {
				return ctx.Err()
			}
			return fmt.Errorf("something is left: %s; run it again", strings.Join(removal.Waits, "; "))
		case <-time.After(removal.Again):
		}
	}
}
