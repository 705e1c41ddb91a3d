// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

func TestHealthChecksReachTheTarget(t *testing.T) {
	var status atomic.Int32
	status.Store(http.StatusOK)
	b := newBed(t, state.Application, Options{})
	server, target := pod(t, "0.0.1", func(w http.ResponseWriter, r *http.Request) {
		if r.UserAgent() != "ELB-HealthChecker/2.0" {
			t.Errorf("checked by %s", r.UserAgent())
		}
		switch code := int(status.Load()); code {
		case 0:
			<-r.Context().Done()
		case http.StatusFound:
			http.Redirect(w, r, "http://127.0.0.1:1/", code)
		default:
			w.WriteHeader(code)
		}
	})
	b.register(target)
	b.waitHealth(target, state.Healthy)

	reasons := []struct {
		status int
		want   state.Reason
	}{
		{http.StatusServiceUnavailable, state.ResponseCodeMismatch},
		{0, state.Timeout},
		{http.StatusFound, state.ResponseCodeMismatch},
	}
	for _, r := range reasons {
		status.Store(int32(r.status))
		b.eventually(string(r.want), func() bool { return b.health(target).Reason == r.want })
	}
	status.Store(http.StatusOK)
	b.waitHealth(target, state.Healthy)
	server.CloseClientConnections()
	server.Listener.Close()
	b.eventually("refused", func() bool { return b.health(target).Reason == state.FailedHealthChecks })
}

func TestHealthCheckByTCP(t *testing.T) {
	b := newBed(t, state.Network, Options{})
	server, target := pod(t, "0.0.2", says("ok"))
	b.register(target)
	b.waitHealth(target, state.Healthy)
	server.Close()
	if got := b.waitHealth(target, state.Unhealthy); got.Reason != state.FailedHealthChecks {
		t.Errorf("reason is %s", got.Reason)
	}
}

// TestPlaneSleeps fails when the scheduler wakes without need: an attached but empty group has nothing to do.
func TestPlaneSleeps(t *testing.T) {
	b := newBed(t, state.Application, Options{})
	b.plane.FrontDoor(b.group)
	if _, next := b.machine.Advance(); !next.IsZero() {
		t.Errorf("the next moment of an empty group is %v", next)
	}
	_, target := pod(t, "0.0.3", says("ok"))
	b.register(target)
	b.waitHealth(target, state.Healthy)
	if probes, next := b.machine.Advance(); len(probes) == 0 && time.Until(next) > 50*time.Millisecond {
		t.Errorf("the next check is in %v, want at most 5 s scaled", time.Until(next))
	}
}
