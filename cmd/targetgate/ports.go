// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/targetgate/targetgate/webhook/server"
)

// defaultMetricsAddr is the incumbent's.
const defaultMetricsAddr = ":8080"

// maxScrapes are answered at the same time, as each takes memory for the whole page. Others get 503.
const maxScrapes = 8

// addMetrics adds the page of metrics, if it has an address. "" is the default one, as in the incumbent, and 0 is none.
func addMetrics(ctx context.Context, mgr ctrl.Manager, address string) error {
	return addPort(ctx, mgr, "metrics", cmp.Or(address, defaultMetricsAddr), metricsPage(metrics.Registry))
}

func metricsPage(from prometheus.Gatherer) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(from, promhttp.HandlerOpts{
		ErrorHandling: promhttp.HTTPErrorOnError, MaxRequestsInFlight: maxScrapes,
	}))
	return mux
}

// addProbes adds the liveness and readiness checks. A replica is alive while the process answers. It is ready once the caches have synced,
// the webhook server listens and API servers would accept its certificate, so that it gets no review too early, until staying fails at
// shutdown.
func addProbes(ctx context.Context, mgr ctrl.Manager, address string, certificate, staying healthz.Checker) error {
	caches := &cachesSynced{}
	pages := probePages(map[string]healthz.Checker{
		"caches": caches.check, "certificate": certificate, "shutdown": staying, "webhook": mgr.GetWebhookServer().StartedChecker(),
	})
	return errors.Join(mgr.Add(caches), addPort(ctx, mgr, "probes", address, pages))
}

func probePages(ready map[string]healthz.Checker) http.Handler {
	mux := http.NewServeMux()
	for path, checks := range map[string]map[string]healthz.Checker{"/healthz": {"ping": healthz.Ping}, "/readyz": ready} {
		handler := http.StripPrefix(path, &healthz.Handler{Checks: checks})
		mux.Handle(path, handler)
		mux.Handle(path+"/", handler) // and the name of a check
	}
	return mux
}

// addPort adds a server of plain HTTP, which the manager starts before the caches.
func addPort(ctx context.Context, mgr ctrl.Manager, name, address string, handler http.Handler) error {
	if address == "" || address == "0" {
		return nil
	}
	plain, err := server.NewPlain(ctx, name, address, ctrl.Log.WithName(name), handler)
	if err != nil {
		return err
	}
	if err := mgr.Add(plain); err != nil {
		return fmt.Errorf("adding the port of %s: %w", name, err)
	}
	return nil
}

// cachesSynced records that the caches have synced: the manager starts it after that, on every replica.
type cachesSynced struct {
	synced atomic.Bool
}

// Start records that the caches have synced.
func (c *cachesSynced) Start(context.Context) error {
	c.synced.Store(true)
	return nil
}

// NeedLeaderElection returns false: replicas that do not lead have caches, too.
func (c *cachesSynced) NeedLeaderElection() bool { return false }

func (c *cachesSynced) check(*http.Request) error {
	if !c.synced.Load() {
		return errors.New("the caches have not synced yet")
	}
	return nil
}
