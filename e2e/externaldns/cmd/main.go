// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	log "github.com/sirupsen/logrus"
	"k8s.io/klog/v2"
	"sigs.k8s.io/external-dns/endpoint"
	"sigs.k8s.io/external-dns/pkg/apis/externaldns"
	"sigs.k8s.io/external-dns/pkg/apis/externaldns/validation"
	"sigs.k8s.io/external-dns/plan"
	"sigs.k8s.io/external-dns/provider"
	"sigs.k8s.io/external-dns/provider/aws"
	"sigs.k8s.io/external-dns/registry"
	"sigs.k8s.io/external-dns/registry/txt"
	"sigs.k8s.io/external-dns/source"
	"sigs.k8s.io/external-dns/source/annotations"
	"sigs.k8s.io/external-dns/source/wrappers"
)

func main() {
	klog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, args []string) error {
	config := externaldns.NewConfig()
	if err := config.ParseFlags(args); err != nil {
		return fmt.Errorf("reading flags: %w", err)
	}
	if err := validation.ValidateConfig(config); err != nil {
		return fmt.Errorf("reading flags: %w", err)
	}
	annotations.SetAnnotationPrefix(config.AnnotationPrefix)
	l, err := newLoop(ctx, config)
	if err != nil {
		return err
	}
	return l.run(ctx, config.Interval)
}

// loop is what ExternalDNS's package controller calls Controller.
type loop struct {
	config   *externaldns.Config
	domains  *endpoint.DomainFilter
	source   source.Source
	registry registry.Registry
}

func newLoop(ctx context.Context, config *externaldns.Config) (*loop, error) {
	domains := endpoint.NewDomainFilterWithOptions(
		endpoint.WithDomainFilter(config.DomainFilter), endpoint.WithDomainExclude(config.DomainExclude),
	)
	sources, err := source.NewSourceConfig(config)
	if err != nil {
		return nil, err
	}
	endpoints, err := wrappers.Build(ctx, sources)
	if err != nil {
		return nil, fmt.Errorf("starting the sources: %w", err)
	}
	route53, err := aws.New(ctx, config, domains)
	if err != nil {
		return nil, fmt.Errorf("starting the provider: %w", err)
	}
	records, err := txt.New(config, route53)
	if err != nil {
		return nil, fmt.Errorf("starting the registry: %w", err)
	}
	return &loop{config, domains, endpoints, records}, nil
}

// run synchronizes at each interval. A soft error is one that the next time may not have.
func (l *loop) run(ctx context.Context, interval time.Duration) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if err := l.synchronize(ctx); errors.Is(err, provider.SoftError) {
			log.Error(err)
		} else if err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// synchronize does what Controller.RunOnce does.
func (l *loop) synchronize(ctx context.Context) error {
	current, err := l.registry.Records(ctx)
	if err != nil {
		return err
	}
	ctx = context.WithValue(ctx, provider.RecordsContextKey, current)
	wanted, err := l.source.Endpoints(ctx)
	if err != nil {
		return err
	}
	wanted, err = l.registry.AdjustEndpoints(wanted)
	if err != nil {
		return fmt.Errorf("adjusting endpoints: %w", err)
	}
	calculated := (&plan.Plan{
		Policies:       []plan.Policy{plan.Policies[l.config.Policy]},
		Current:        current,
		Desired:        wanted,
		DomainFilter:   endpoint.MatchAllDomainFilters{l.domains, l.registry.GetDomainFilter()},
		ManagedRecords: l.config.ManagedDNSRecordTypes,
		ExcludeRecords: l.config.ExcludeDNSRecordTypes,
		OwnerID:        l.registry.OwnerID(),
	}).Calculate()
	if !calculated.Changes.HasChanges() {
		return nil
	}
	return l.registry.ApplyChanges(ctx, calculated.Changes)
}
