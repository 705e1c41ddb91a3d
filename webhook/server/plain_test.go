// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
)

// startPlain serves connections in memory until the test ends or end is called.
func startPlain(t *testing.T, handler http.HandlerFunc) (inner *pipes, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	inner = newPipes()
	go func() { done <- newPlain(inner, "metrics", logr.Discard(), handler).Start(ctx) }()
	return inner, func() {
		cancel()
		synctest.Wait() // it has begun to shut down
		close(inner.accept)
		if err := <-done; err != nil {
			t.Errorf("Start() = %v, want no error at the end", err)
		}
	}
}

func TestPlainPortBoundsItsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, end := startPlain(t, func(http.ResponseWriter, *http.Request) {})
		defer end()
		var closed atomic.Int32
		for range maxPlainConnections + 3 {
			c := inner.dial(unknown)
			defer c.Close()
			go func() {
				_, _ = io.Copy(io.Discard, c)
				closed.Add(1)
			}()
			synctest.Wait()
		}
		if n := closed.Load(); n != 3 {
			t.Errorf("%d of %d connections are closed, want 3", n, maxPlainConnections+3)
		}
		kubelet := inner.dial(other)
		defer kubelet.Close()
		if got, want := ask(t, kubelet, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"), "HTTP/1.1 200 OK"; got != want {
			t.Errorf("while somebody has all connections, another gets %q, want %q", got, want)
		}
	})
}

func TestPlainPortBoundsHeadersAndTimes(t *testing.T) {
	for name, tc := range map[string]struct {
		send, want string
		ends       time.Duration
	}{
		"no request":   {ends: headerTimeout},
		"half headers": {send: "GET / HTTP/1.1\r\na: b\r\n", ends: headerTimeout},
		"half a body":  {send: "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf", want: "200", ends: bodyTimeout},
		"an answer":    {send: "GET / HTTP/1.1\r\nHost: a\r\n\r\n", want: "200", ends: idleTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner, end := startPlain(t, func(_ http.ResponseWriter, req *http.Request) { _, _ = io.ReadAll(req.Body) })
				defer end()
				client := inner.dial(unknown)
				defer client.Close()
				begun := time.Now()
				go func() { _, _ = io.WriteString(client, tc.send) }()
				answer, _ := io.ReadAll(client)
				if got := time.Since(begun); got != tc.ends {
					t.Errorf("the connection ended after %s, want %s", got, tc.ends)
				}
				if status := strings.TrimPrefix(string(answer), "HTTP/1.1 "); !strings.HasPrefix(status, tc.want) {
					t.Errorf("the answer is %q, want %s", answer, tc.want)
				}
			})
		})
	}
}

func TestPlainPortSaysWhatItCannotListenOn(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, err = NewPlain(t.Context(), "probes", taken.Addr().String(), logr.Discard(), http.NotFoundHandler())
	if err == nil || !strings.Contains(err.Error(), "listening for probes") {
		t.Errorf("NewPlain() = %v, want an error that says so", err)
	}
}
