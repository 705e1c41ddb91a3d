// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// lameDuck is the time between being told to end and ending. All work goes on, the webhooks above all: kube-apiserver
// keeps its connections to a pod that terminates and goes on asking it, and kube-proxy on every node takes a while to
// send new ones elsewhere.
type lameDuck struct {
	told  context.Context // ends when the process is told to end
	delay time.Duration
}

// context ends the delay after the process was told to end.
func (d *lameDuck) context() context.Context {
	ctx, cancel := context.WithCancel(context.WithoutCancel(d.told))
	context.AfterFunc(d.told, func() {
		defer cancel()
		ctrl.Log.Info("Told to end, serving on meanwhile", "shutdownDelay", d.delay)
		time.Sleep(d.delay)
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
