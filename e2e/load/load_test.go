// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// run sends a load until enough requests have come back.
func run(t *testing.T, enough int, options Options) Result {
	t.Helper()
	l, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Stop()
	eventually(t, fmt.Sprintf("%d answers", enough), func() bool { return l.Snapshot().Requests >= enough })
	return l.Stop()
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); <-ticker.C {
		if holds() {
			return
		}
	}
	t.Fatalf("waited in vain for: %s", what)
}

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

func TestLoadCountsByStatus(t *testing.T) {
	var n atomic.Int64
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "shop.example" || r.Header.Get("X-Test") != "yes" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if n.Add(1)%4 == 0 {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	for _, keepAlive := range []bool{true, false} {
		t.Run(fmt.Sprintf("keepAlive %v", keepAlive), func(t *testing.T) {
			n.Store(0)
			header := http.Header{"Host": {"shop.example"}, "X-Test": {"yes"}}
			got := run(t, 40, Options{URL: server.URL, Rate: 500, KeepAlive: keepAlive, Header: header})
			want := map[string]int{"200": got.Requests - got.Requests/4, "502": got.Requests / 4}
			if diff := cmp.Diff(want, got.ByStatus); diff != "" {
				t.Errorf("by status (-want +got):\n%s", diff)
			}
			if int(n.Load()) != got.Requests || got.Failed != want["502"] || len(got.Failures) != got.Failed {
				t.Errorf("server saw %d requests, result %d, %d failed, %d kept", n.Load(), got.Requests, got.Failed, len(got.Failures))
			}
			for _, f := range got.Failures {
				if f.Status != "502" || f.Due.IsZero() || f.Sent.Before(f.Due) || f.Latency <= 0 {
					t.Errorf("got failure %+v", f)
				}
			}
			if got.P50 <= 0 || got.P50 > got.P90 || got.P90 > got.P99 || got.P99 > got.Max || got.Duration <= 0 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// A connection that breaks once the request is out is a failure, on a reused connection too, and is not retried.
func TestLoadNeverRetries(t *testing.T) {
	cases := map[string]func(net.Conn){
		Closed: func(c net.Conn) { _ = c.Close() },
		Reset: func(c net.Conn) {
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		},
	}
	for want, breakIt := range cases {
		t.Run(want, func(t *testing.T) {
			var seen, broken atomic.Int64
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if seen.Add(1)%5 != 0 {
					return
				}
				broken.Add(1)
				connection, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				breakIt(connection)
			})
			got := run(t, 50, Options{URL: server.URL, Rate: 500, Workers: 1, KeepAlive: true})
			if got.Requests != int(seen.Load()) || got.ByStatus[want] != int(broken.Load()) || got.Failed != got.ByStatus[want] {
				t.Errorf("server saw %d, broke %d; got %d requests, %v", seen.Load(), broken.Load(), got.Requests, got.ByStatus)
			}
		})
	}
}

func TestLoadReplacesConnectionsThatClosedWhileIdle(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) {})
	w := worker{request: mustRequest(t, server.URL), timeout: 10 * time.Second, keepAlive: true}
	defer w.close()
	if got := w.ask(); got != "200" {
		t.Fatalf("got %s", got)
	}
	first := w.connection
	if got := w.ask(); got != "200" || w.connection != first {
		t.Errorf("got %s on another connection: %v", got, w.connection != first)
	}
	server.CloseClientConnections()
	eventually(t, "the close arrives", func() bool { return !isOpen(first) })
	if got := w.ask(); got != "200" || w.connection == first {
		t.Errorf("got %s on the same connection: %v", got, w.connection == first)
	}
}

func mustRequest(t *testing.T, url string) *http.Request {
	t.Helper()
	request, err := Options{URL: url, Rate: 1, KeepAlive: true}.request()
	if err != nil {
		t.Fatal(err)
	}
	return request
}

func TestLoadNamesFailures(t *testing.T) {
	hang := make(chan struct{})
	slow := serve(t, func(http.ResponseWriter, *http.Request) { <-hang })
	t.Cleanup(func() { close(hang) }) // runs before the server is closed
	short := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("not a hundred bytes"))
	})
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	cases := map[string]struct {
		url  string
		want string
	}{
		"nobody listens":   {gone.URL, Refused},
		"no answer":        {slow.URL, Timeout},
		"half of the body": {short.URL, Closed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := run(t, 3, Options{URL: tc.url, Rate: 50, Timeout: 50 * time.Millisecond, KeepAlive: true})
			if got.ByStatus[tc.want] != got.Requests {
				t.Errorf("got %v, want %s alone", got.ByStatus, tc.want)
			}
			if got.Failed != got.Requests {
				t.Errorf("%d of %d failed", got.Failed, got.Requests)
			}
		})
	}
}

func TestKindOfErrors(t *testing.T) {
	cases := map[string]struct {
		err  error
		want string
	}{
		"refused": {&net.OpError{Err: syscall.ECONNREFUSED}, Refused},
		"pipe":    {fmt.Errorf("writing: %w", syscall.EPIPE), Reset},
		"timeout": {context.DeadlineExceeded, Timeout},
		"other":   {errors.New("what"), Other},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := kind(tc.err); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestLoadIsAnOpenLoop(t *testing.T) {
	var inFlight, most atomic.Int64
	release := make(chan struct{})
	server := serve(t, func(http.ResponseWriter, *http.Request) {
		most.Store(max(most.Load(), inFlight.Add(1)))
		<-release
		inFlight.Add(-1)
	})
	l, err := Start(t.Context(), Options{URL: server.URL, Rate: 200, Workers: 8})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a slow server gets as many requests as there are workers", func() bool { return inFlight.Load() == 8 })
	eventually(t, "requests are late", func() bool { return l.Snapshot().Duration > 300*time.Millisecond })
	close(release)
	eventually(t, "the backlog is worked off", func() bool { return l.Snapshot().Requests > 50 })
	got := l.Stop()
	if got.Late == 0 || got.Max < 200*time.Millisecond || got.Failed != 0 || most.Load() > 8 {
		t.Errorf("got %+v, at most %d in flight", got, most.Load())
	}
}

func TestLoadKeepsItsRate(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) {})
	got := run(t, 100, Options{URL: server.URL, Rate: 200, KeepAlive: true})
	// 100 requests at 200 a second are due within 495 ms; they cannot come sooner.
	if got.Duration < 490*time.Millisecond || float64(got.Requests) > got.Duration.Seconds()*200+1 {
		t.Errorf("%d requests in %v", got.Requests, got.Duration)
	}
}

func TestLoadEndsWithItsContext(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) {
		time.Sleep(20 * time.Millisecond) // the service time, so that some are in flight at the end
	})
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	l, err := Start(ctx, Options{URL: server.URL, Rate: 300})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "some answers", func() bool { return l.Snapshot().Requests > 5 })
	cancel()
	first, second := l.Stop(), l.Stop()
	if first.Failed != 0 || first.Requests != second.Requests || first.Duration != second.Duration {
		t.Errorf("got %+v, then %+v", first, second)
	}
	server.Close()
	eventually(t, "no goroutine left", func() bool { return runtime.NumGoroutine() <= before })
}

func TestOptionsAreValidated(t *testing.T) {
	cases := map[string]Options{
		"ftp":    {URL: "ftp://127.0.0.1", Rate: 1},
		"no URL": {Rate: 1},
		"rate":   {URL: "http://127.0.0.1"},
		"syntax": {URL: "http://%zz", Rate: 1},
	}
	for name, options := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := Start(t.Context(), options); err == nil {
				t.Error("no error")
			}
		})
	}
}
