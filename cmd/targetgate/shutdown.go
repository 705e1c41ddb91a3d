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

// lameDuck is the time between being told to end and ending. All work goes on, the webhooks above all: kube-apiserver
// keeps its connections to a pod that terminates and goes on asking it, and kube-proxy on every node takes a while to
// send new ones elsewhere. When it has had half of the time for that, API servers are asked to take their connections
// elsewhere, too: see politeServer.
type lameDuck struct {
	told    context.Context // ends when the process is told to end
	delay   time.Duration
	parting atomic.Bool
}

// context ends the delay after the process was told to end.
func (d *lameDuck) context() context.Context {
	ctx, cancel := context.WithCancel(context.WithoutCancel(d.told))
	context.AfterFunc(d.told, func() {
		defer cancel()
		ctrl.Log.Info("Shutting down, still serving", "shutdownDelay", d.delay)
		time.Sleep(d.delay / 2)
		d.parting.Store(true)
		time.Sleep(d.delay / 2)
	})
	return ctx
}

// check fails as soon as the process was told to end, so that nobody new comes.
func (d *lameDuck) check(*http.Request) error {
	if d.told.Err() != nil {
		return errors.New("shutting down")
	}
	return nil
}

// politeServer is a webhook server that loses no review when it ends. The one in it cancels the reviews that are under way,
// and closes connections just when a review comes in on one.
type politeServer struct {
	ctrlwebhook.Server
	duck *lameDuck

	mu       sync.Mutex
	ending   bool
	underWay sync.WaitGroup // reviews that have come in before the end
}

// Register adds a hook.
func (s *politeServer) Register(path string, hook http.Handler) {
	s.Server.Register(path, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if s.begin() {
			defer s.underWay.Done()
		}
		if s.duck.parting.Load() {
			// The connection ends after this answer, and in HTTP/1.1 nothing else is under way on it.
			w.Header().Set("Connection", "close")
		}
		hook.ServeHTTP(w, req)
	}))
}

// lastReviews is how long reviews that are under way may hold up the end: as long as API servers wait for those of pods. Longer
// ones wait for AWS, and meanwhile nobody has the lease.
const lastReviews = 3 * time.Second

// Start serves until ctx ends, and then as long as reviews are under way, but not longer than lastReviews.
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
