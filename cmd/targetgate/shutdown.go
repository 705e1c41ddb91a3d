// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
)

// lameDuck delays the shutdown after the signal. Until then all work continues, above all the webhooks: kube-apiserver
// keeps its connections to a terminating pod and sends reviews on them, and kube-proxy on every node takes a while to send
// new connections elsewhere. After half of the delay, API servers are asked to close their connections, too: see
// politeServer.
type lameDuck struct {
	signalled context.Context // ends with the shutdown signal
	delay     time.Duration
	parting   atomic.Bool
}

// context returns a context that ends the delay after the shutdown signal.
func (d *lameDuck) context() context.Context {
	ctx, cancel := context.WithCancel(context.WithoutCancel(d.signalled))
	context.AfterFunc(d.signalled, func() {
		defer cancel()
		ctrl.Log.Info("Shutting down, still serving", "shutdownDelay", d.delay)
		time.Sleep(d.delay / 2)
		d.parting.Store(true)
		time.Sleep(d.delay / 2)
	})
	return ctx
}

// check fails from the shutdown signal on, so that no new connections come.
func (d *lameDuck) check(*http.Request) error {
	if d.signalled.Err() != nil {
		return errors.New("shutting down")
	}
	return nil
}

// politeServer is a webhook server that loses no review at shutdown. The server it wraps would cancel reviews in progress,
// and close connections while a review arrives on one: http.Server.Shutdown closes idle connections at once, and controller-runtime
// has no delay before it.
type politeServer struct {
	ctrlwebhook.Server
	duck *lameDuck

	mu       sync.Mutex
	ending   bool
	underWay sync.WaitGroup // reviews that arrived before shutdown
}

// Register adds a hook.
func (s *politeServer) Register(path string, hook http.Handler) {
	s.Server.Register(path, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if s.begin() {
			defer s.underWay.Done()
		}
		if s.duck.parting.Load() {
			// Closes the connection after this answer. In HTTP/1.1, it carries no other request.
			w.Header().Set("Connection", "close")
		}
		hook.ServeHTTP(w, req)
	}))
}

// lastReviews is how long reviews in progress may delay the exit: as long as API servers wait for pod reviews. Longer ones
// wait for AWS, and meanwhile no replica has the lease.
const lastReviews = 3 * time.Second

// Start serves until ctx ends and no review is in progress, but at most lastReviews longer.
func (s *politeServer) Start(ctx context.Context) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	context.AfterFunc(ctx, func() {
		time.AfterFunc(lastReviews, stop)
		s.end()
		stop()
	})
	return s.Server.Start(serving)
}

func (s *politeServer) begin() (counted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ending {
		s.underWay.Add(1)
	}
	return !s.ending
}

func (s *politeServer) end() {
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	s.underWay.Wait()
}
