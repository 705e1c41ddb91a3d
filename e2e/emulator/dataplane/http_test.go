// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

func TestForwardSpreadsEvenly(t *testing.T) {
	b := newBed(t, state.Application, Options{})
	_, one := pod(t, "0.1.1", says("one"))
	_, two := pod(t, "0.1.2", says("two"))
	b.register(one, two)
	b.waitHealth(one, state.Healthy)
	b.waitHealth(two, state.Healthy)
	got := map[string]int{}
	for range 20 {
		_, body := b.get()
		got[body]++
	}
	if diff := cmp.Diff(map[string]int{"one": 10, "two": 10}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	sum := b.plane.Traffic(b.group)[one.Key]
	if sum.Requests != 10 || sum.ByStatus[200] != 10 || sum.Last.Before(sum.First) {
		t.Errorf("traffic of one is %+v", sum)
	}
	if got := len(b.plane.Requests(5)); got != 15 {
		t.Errorf("%d requests after the fifth, want 15", got)
	}
}

func TestForwardFailsAsAnALBDoes(t *testing.T) {
	cases := map[string]struct {
		handler http.HandlerFunc
		want    int
	}{
		"target's own answer": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }, http.StatusTeapot},
		"target closes":       {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, http.StatusBadGateway},
		"target is slow":      {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, http.StatusGatewayTimeout},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, state.Application, Options{IdleTimeout: 5 * time.Second})
			_, target := pod(t, "0.2.1", tc.handler)
			b.register(target)
			b.eventually("route", func() bool { return len(b.machine.Route(b.group)) == 1 })
			if status, _ := b.get(); status != tc.want {
				t.Errorf("status is %d, want %d", status, tc.want)
			}
		})
	}
	t.Run("no target", func(t *testing.T) {
		b := newBed(t, state.Application, Options{})
		if status, _ := b.get(); status != http.StatusServiceUnavailable {
			t.Errorf("status is %d, want 503", status)
		}
	})
	t.Run("target refuses", func(t *testing.T) {
		b := newBed(t, state.Application, Options{})
		server, target := pod(t, "0.2.2", says("ok"))
		b.register(target)
		b.waitHealth(target, state.Healthy)
		server.Close()
		if status, _ := b.get(); status != http.StatusBadGateway {
			t.Errorf("status is %d, want 502", status)
		}
	})
}

// TestForwardDoesNotTryTwice: a kept connection that closes on the second request is a 502, not a silent retry.
func TestForwardDoesNotTryTwice(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		t.Run(method, func(t *testing.T) {
			b := newBed(t, state.Application, Options{})
			var requests atomic.Int32
			came := make(chan string, 9)
			_, target := pod(t, "0.3.1", func(_ http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/work" {
					return
				}
				came <- r.RemoteAddr
				if requests.Add(1) == 2 {
					panic(http.ErrAbortHandler)
				}
			})
			b.register(target)
			b.waitHealth(target, state.Healthy)
			var got []int
			for range 3 {
				req, err := http.NewRequestWithContext(t.Context(), method, "http://"+b.plane.FrontDoor(b.group)+"/work", nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Idempotency-Key", "1")
				resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				got = append(got, resp.StatusCode)
			}
			if diff := cmp.Diff([]int{200, 502, 200}, got); diff != "" || requests.Load() != 3 {
				t.Errorf("%d requests reached the target, statuses (-want +got):\n%s", requests.Load(), diff)
			}
			if first, second := <-came, <-came; first != second {
				t.Errorf("the second request came over a new connection, so this test proves nothing")
			}
		})
	}
}

func TestForwardKeepsConnections(t *testing.T) {
	b := newBed(t, state.Application, Options{})
	seen := make(chan string, 10)
	_, target := pod(t, "0.3.2", func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/work" {
			seen <- r.RemoteAddr + " " + r.Header.Get("X-Forwarded-For") + " " + r.Host
		}
	})
	b.register(target)
	b.waitHealth(target, state.Healthy)
	for range 2 {
		req := httptest.NewRequest(http.MethodGet, "http://shop.example/work", nil)
		req.RequestURI, req.URL.Host = "", b.plane.FrontDoor(b.group)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	first, second := <-seen, <-seen
	if first != second || !strings.HasSuffix(first, " 127.0.0.1 shop.example") {
		t.Errorf("requests came as %q and %q, want one connection, the client's address and the host", first, second)
	}
}

func TestForwardGoesOnAfterDeregistration(t *testing.T) {
	b := newBed(t, state.Application, Options{})
	_, one := pod(t, "0.4.1", says("one"))
	_, two := pod(t, "0.4.2", says("two"))
	b.register(one, two)
	b.waitHealth(one, state.Healthy)
	b.waitHealth(two, state.Healthy)
	left := time.Now()
	b.deregister(two)
	var routed time.Duration
	asked := 0 // while it was routed to
	b.eventually("end of traffic", func() bool {
		b.get()
		routed = time.Since(left)
		if len(b.machine.Route(b.group)) == 1 {
			return true
		}
		asked++
		return false
	})
	traffic := b.plane.Traffic(b.group)[two.Key]
	last := traffic.Last.Sub(left)
	if routed < 100*time.Millisecond || last > 400*time.Millisecond {
		t.Errorf("the target was routed to for %v, the last request came after %v, want about 12 to 20 s scaled", routed, last)
	}
	if traffic.Requests < asked/2 {
		t.Errorf("%d of %d requests went to the target while it was routed to, want half", traffic.Requests, asked)
	}
}

func TestForwardCutsAtTheEndOfTheDelay(t *testing.T) {
	for name, begun := range map[string]bool{"before the answer": false, "in the answer": true} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, state.Application, Options{IdleTimeout: time.Hour})
			arrived := make(chan bool, 1)
			_, target := pod(t, "0.5.1", func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/" && r.UserAgent() == "ELB-HealthChecker/2.0" {
					return
				}
				if begun {
					_, _ = io.WriteString(w, "half")
					_ = http.NewResponseController(w).Flush()
				}
				arrived <- true
				<-r.Context().Done()
			})
			b.register(target)
			b.waitHealth(target, state.Healthy)
			go func() {
				<-arrived
				b.deregister(target)
			}()
			status, body := b.get()
			b.eventually("record", func() bool { return len(b.plane.Requests(0)) == 1 })
			got := b.plane.Requests(0)[0]
			if begun && (status != 200 || body != "half") || !begun && status != 502 || got.Err != errCut.Error() {
				t.Errorf("status %d, body %q, record %+v", status, body, got)
			}
			if took := got.End.Sub(got.Start); took < 3*time.Second {
				t.Errorf("cut after %v, want the whole deregistration delay", took)
			}
		})
	}
}

func TestForwardNotesClientThatLeaves(t *testing.T) {
	b := newBed(t, state.Application, Options{})
	arrived := make(chan bool, 1)
	_, target := pod(t, "0.5.2", func(_ http.ResponseWriter, r *http.Request) {
		if r.UserAgent() != "ELB-HealthChecker/2.0" {
			arrived <- true
			<-r.Context().Done()
		}
	})
	b.register(target)
	b.waitHealth(target, state.Healthy)
	conn, err := net.Dial("tcp", b.plane.FrontDoor(b.group))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-arrived
	conn.Close()
	b.eventually("record", func() bool { return len(b.plane.Requests(0)) == 1 })
	if got := b.plane.Requests(0)[0].Status; got != statusClientLeft {
		t.Errorf("status is %d, want 460", got)
	}
}

func TestDoorsFollowListeners(t *testing.T) {
	b := newBed(t, state.Application, Options{})
	address := b.plane.FrontDoor(b.group)
	listeners, err := b.machine.Listeners(b.lb)
	if err != nil || b.plane.ListenerDoor(listeners[0].ARN) != address {
		t.Fatalf("listeners %v: %v", listeners, err)
	}
	if err := b.machine.DeleteListener(listeners[0].ARN); err != nil {
		t.Fatal(err)
	}
	b.eventually("closed door", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	if got := b.plane.FrontDoor(b.group); got != "" {
		t.Errorf("front door is %s", got)
	}
}
