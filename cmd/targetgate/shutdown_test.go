// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
)

func TestProcessServesOnBeforeItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signalled, signal := context.WithCancel(t.Context())
		duck := &lameDuck{signalled: signalled, delay: 10 * time.Second}
		ctx := duck.context()
		if err := duck.check(nil); err != nil {
			t.Errorf("before: got %v, want no error", err)
		}
		begun := time.Now()
		signal()
		synctest.Wait()
		if ctx.Err() != nil {
			t.Error("it ends at once")
		}
		if err := duck.check(nil); err == nil {
			t.Error("it says that it is ready although it was told to end")
		}
		<-ctx.Done()
		if got := time.Since(begun); got != duck.delay {
			t.Errorf("it ended after %s, want %s", got, duck.delay)
		}
	})
}

// plainServer is the inner part of a politeServer.
type plainServer struct {
	ctrlwebhook.Server
	hook  http.Handler
	ended atomic.Bool
}

func (s *plainServer) Register(_ string, hook http.Handler) { s.hook = hook }

func (s *plainServer) Start(ctx context.Context) error {
	<-ctx.Done()
	s.ended.Store(true)
	return nil
}

func TestPoliteServerEndsAfterReviewsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &plainServer{}
		server := &politeServer{Server: inner, duck: &lameDuck{}}
		server.Register("/", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(time.Second) }))
		ctx, end := context.WithCancel(t.Context())
		go func() { _ = server.Start(ctx) }()
		go inner.hook.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", http.NoBody))
		synctest.Wait()
		end()
		synctest.Wait()
		if inner.ended.Load() {
			t.Error("it ended with a review under way")
		}
		go inner.hook.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", http.NoBody))
		time.Sleep(time.Second)
		synctest.Wait()
		if !inner.ended.Load() {
			t.Error("it did not end after the review")
		}
		time.Sleep(time.Second)
	})
}

func TestPoliteServerDoesNotWaitForAHangingReview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &plainServer{}
		server := &politeServer{Server: inner, duck: &lameDuck{}}
		server.Register("/", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(time.Minute) }))
		ctx, end := context.WithCancel(t.Context())
		go func() { _ = server.Start(ctx) }()
		go inner.hook.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", http.NoBody))
		synctest.Wait()
		end()
		time.Sleep(lastReviews)
		synctest.Wait()
		if !inner.ended.Load() {
			t.Errorf("it did not end within %s", lastReviews)
		}
		time.Sleep(time.Minute)
	})
}

func TestPoliteServerAsksToTakeConnectionsElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signalled, signal := context.WithCancel(t.Context())
		duck := &lameDuck{signalled: signalled, delay: 10 * time.Second}
		inner := &plainServer{}
		server := &politeServer{Server: inner, duck: duck}
		server.Register("/", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		ctx := duck.context()
		connection := func() string {
			w := httptest.NewRecorder()
			inner.hook.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", http.NoBody))
			return w.Header().Get("Connection")
		}
		signal()
		time.Sleep(duck.delay/2 - time.Second)
		if got := connection(); got != "" {
			t.Errorf("as long as new connections may come here: Connection %q, want none", got)
		}
		time.Sleep(2 * time.Second)
		if got := connection(); got != "close" {
			t.Errorf("in the end: Connection %q, want close", got)
		}
		<-ctx.Done()
	})
}
