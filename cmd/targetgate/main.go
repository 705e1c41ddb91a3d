// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/cmd/targetgate/command"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets"
	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/webhook"
)

// version is set at link time.
var version = "dev"

func main() {
	ctx := ctrl.SetupSignalHandler()
	if command.AsksToGiveBack(os.Args) {
		os.Exit(command.GiveBack(ctx, os.Args[2:], os.Stdout, os.Stderr))
	}
	if command.AsksToGuard(os.Args) {
		os.Exit(command.Guard(ctx, os.Args[2:], os.Stdout, os.Stderr))
	}
	if asksToPlan(os.Args) {
		os.Exit(planCommand(ctx, os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	if asksForOrphans(os.Args) {
		os.Exit(orphansCommand(ctx, os.Args[2:], os.Stdout, os.Stderr))
	}
	if program, yes := command.AsksToExplain(os.Args); yes {
		os.Exit(command.Explain(ctx, program, version, os.Args[1:], os.Stdout, os.Stderr))
	}
	err := run(ctx, os.Args[1:])
	if errors.Is(err, pflag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "targetgate: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	opts, err := parseOptions(args)
	if err != nil {
		return err
	}
	setUpLogging(opts)
	aws, err := newAWS(ctx, opts)
	if err != nil {
		return err
	}
	duck := &lameDuck{signalled: ctx, delay: opts.ShutdownDelay}
	mgr, err := newManager(ctx, opts, duck)
	if err != nil {
		return err
	}
	consent, roleChanges, err := newConsent(opts, mgr)
	if err != nil {
		return err
	}
	err = webhook.Setup(ctx, mgr, webhook.Options{
		Clients: aws.clients, OwnVPC: aws.ownVPC, Namespaces: opts.WatchNamespaces, Consent: consent,
		InjectGates: opts.InjectGates, Termination: opts.Termination, MakesRules: opts.Networking.Make,
		Mode: opts.mode(), Ingresses: opts.Provision.reviews(aws),
	})
	if err != nil {
		return err
	}
	recorder := events.NewQueue(mgr.GetClient(), clock.RealClock{})
	if err := mgr.Add(recorder); err != nil {
		return fmt.Errorf("adding event queue: %w", err)
	}
	registrar := &targets.Registrar{
		Client:                  mgr.GetClient(),
		Uncached:                mgr.GetAPIReader(),
		Clients:                 aws.clients,
		Writer:                  &readiness.Writer{Client: mgr.GetClient().Status(), Clock: clock.RealClock{}, TwoWay: opts.Policy.TwoWay},
		Recorder:                recorder,
		Clock:                   clock.RealClock{},
		Mode:                    opts.mode(),
		OpenIncumbentGates:      opts.OpenIncumbentGates,
		Policy:                  opts.Policy,
		Consent:                 consent,
		RoleChanges:             roleChanges,
		VPC:                     opts.VpcID,
		DriftInterval:           opts.DriftInterval,
		LastResort:              opts.EndpointsFailOpen,
		LoadBalancerGates:       opts.LoadBalancerGates,
		Networking:              newNetworking(opts, mgr, aws.ec2, aws.ownVPC),
		Namespace:               opts.Certificates.SelfMade.Namespace,
		InjectsGates:            opts.InjectGates,
		WebhookConfiguration:    opts.Certificates.SelfMade.Configuration,
		MaxConcurrentReconciles: opts.MaxConcurrentReconciles,
		MaxBackoff:              opts.MaxBackoff,
	}
	if err := registrar.SetupWithManager(ctx, mgr); err != nil {
		return err
	}
	if err := setUpProvisioning(ctx, opts, mgr, aws, recorder); err != nil {
		return err
	}
	return mgr.Start(duck.context())
}
