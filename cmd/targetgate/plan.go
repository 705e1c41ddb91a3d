// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/balancers/ingress/preview"
	"github.com/targetgate/targetgate/balancers/secrets"
	"github.com/targetgate/targetgate/cmd/targetgate/command"
)

// planCommand runs plan with these arguments and returns the exit code.
func planCommand(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	ctrl.SetLogger(logr.Discard())
	opts, err := parsePlanOptions(args, out)
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	var report preview.Report
	if err == nil {
		report, err = opts.plan(ctx, in)
	}
	if err == nil {
		err = opts.print(out, report)
	}
	if err != nil {
		fmt.Fprintf(errOut, "targetgate %s: %v\n", planName, err)
		return 1
	}
	return planExit(report)
}

func planExit(report preview.Report) int {
	switch {
	case report.IsFaulty():
		return 1
	case report.Changes:
		return 2
	}
	return 0
}

func (o *planOptions) print(out io.Writer, report preview.Report) error {
	if o.Output == "json" {
		return command.PrintJSON(out, report)
	}
	return report.Text(out)
}

func (o *planOptions) plan(ctx context.Context, in io.Reader) (preview.Report, error) {
	c, namespace, err := command.Connect(o.Kubeconfig, o.Context, o.Namespace, nil)
	if err != nil {
		return preview.Report{}, err
	}
	aws, err := newAWS(ctx, &o.options)
	if err != nil {
		return preview.Report{}, err
	}
	if o.Provision.Ingress.VPC, err = aws.ownVPC(ctx); err != nil {
		return preview.Report{}, err
	}
	snapshot := preview.NewSnapshot(c, o.WatchNamespaces)
	calls := newProvisionCalls(aws)
	reconciler, ingresses := newReconciler(&o.options, newView(&o.options, calls), newAnswerer(&o.options, calls), snapshot)
	ingresses.Secrets = &secrets.Reader{Client: snapshot, Label: o.Provision.SecretsLabel}
	return o.ask(ctx, &preview.Preview{Reconciler: reconciler, Snapshot: snapshot}, namespace, in)
}

func (o *planOptions) ask(ctx context.Context, p *preview.Preview, namespace string, in io.Reader) (preview.Report, error) {
	switch {
	case o.All:
		return p.All(ctx)
	case o.Group != "":
		return p.Group(ctx, o.Group)
	case o.File != "":
		return o.askOfFile(ctx, p, namespace, in)
	}
	o.Ingress.Namespace = cmp.Or(o.Ingress.Namespace, namespace)
	return p.Ingress(ctx, o.Ingress)
}

func (o *planOptions) askOfFile(ctx context.Context, p *preview.Preview, namespace string, in io.Reader) (preview.Report, error) {
	if o.File != "-" {
		file, err := os.Open(o.File)
		if err != nil {
			return preview.Report{}, err
		}
		defer file.Close()
		in = file
	}
	objects, others, err := preview.Objects(in, namespace)
	if err != nil {
		return preview.Report{}, fmt.Errorf("reading %s: %w", o.File, err)
	}
	report, err := p.Objects(ctx, objects)
	if len(others) > 0 {
		report.Notes = append(report.Notes, "left out of the file, as no load balancers are created for them: "+strings.Join(others, ", "))
	}
	return report, err
}
