// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/e2e/kubelet/probe"
)

// handler answers the requests of one process.
type handler struct {
	app   *App
	pod   string
	clock clock.Clock
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	set := h.app.behaviour()
	w.Header().Set("X-Pod", h.pod)
	w.Header().Set("X-Version", set.version)
	w.Header().Set("X-Path", r.URL.Path)
	switch r.URL.Path {
	case "/ready":
		w.WriteHeader(readyStatus(set.ready))
	case "/healthz":
		w.WriteHeader(set.health)
	default:
		h.serve(w, r, set)
	}
}

// serve takes its time and answers with the pod's name and version.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, set behaviour) {
	if !isProbe(r) {
		h.app.count(h.clock.Now())
	}
	if !h.work(r.Context(), set.latency) {
		// The process was cut or the client left: there must be no answer, not even an empty one.
		panic(http.ErrAbortHandler)
	}
	if !set.keepAlive {
		w.Header().Set("Connection", "close")
	}
	w.WriteHeader(set.status)
	// A client that has left is no concern of the app.
	_, _ = fmt.Fprintf(w, "%s %s\n", h.pod, set.version)
}

func (h *handler) work(request context.Context, latency time.Duration) bool {
	if latency <= 0 {
		return true
	}
	timer := h.clock.NewTimer(latency)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-request.Done(): // its connection was closed, by either side
		return false
	}
}

func readyStatus(ready bool) int {
	if ready {
		return http.StatusOK
	}
	return http.StatusServiceUnavailable
}

func isProbe(r *http.Request) bool {
	agent := r.UserAgent()
	return strings.HasPrefix(agent, probe.Agent) || strings.HasPrefix(agent, "ELB-HealthChecker/")
}
