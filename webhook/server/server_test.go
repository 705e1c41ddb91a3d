// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// newCertificate is valid in synctest's time, too.
func newCertificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

// start has a server with a hook at /hook serve connections in memory, until the test ends or end is called.
func start(t *testing.T, log logr.Logger, hook http.HandlerFunc) (inner *pipes, end func()) {
	t.Helper()
	certificate := newCertificate(t)
	s := New(0, log, func(c *tls.Config) { c.Certificates = []tls.Certificate{certificate} })
	s.Register("/hook", hook)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	inner = newPipes()
	go func() { done <- s.serve(ctx, inner) }()
	return inner, func() {
		cancel()
		close(inner.accept)
		if err := <-done; err != nil {
			t.Errorf("serve() = %v, want no error at the end", err)
		}
	}
}

func dialTLS(t *testing.T, inner *pipes, protocols ...string) (*tls.Conn, error) {
	t.Helper()
	c := tls.Client(inner.dial(apiServer), &tls.Config{InsecureSkipVerify: true, NextProtos: protocols, MinVersion: tls.VersionTLS12})
	return c, c.Handshake()
}

func TestServerSpeaksHTTP1Only(t *testing.T) {
	for name, tc := range map[string]struct {
		offered []string
		want    string
		wantErr bool
	}{
		"nothing said":   {},
		"either":         {offered: []string{"h2", "http/1.1"}, want: "http/1.1"},
		"API servers":    {offered: []string{"http/1.1"}, want: "http/1.1"},
		"only the other": {offered: []string{"h2"}, wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner, end := start(t, logr.Discard(), func(http.ResponseWriter, *http.Request) {})
				defer end()
				c, err := dialTLS(t, inner, tc.offered...)
				defer func() { _ = c.Close() }()
				if got := c.ConnectionState().NegotiatedProtocol; got != tc.want || (err != nil) != tc.wantErr {
					t.Errorf("protocol %q, error %v; want %q, error: %v", got, err, tc.want, tc.wantErr)
				}
			})
		})
	}
}

// ask sends the text and returns the status line of the answer.
func ask(t *testing.T, c net.Conn, text string) string {
	t.Helper()
	go func() { _, _ = io.WriteString(c, text) }()
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(line)
}

func TestServerBoundsHeaders(t *testing.T) {
	for name, tc := range map[string]struct {
		headers string
		want    string
	}{
		"of an API server": {headers: strings.Repeat("X-Header: some value\r\n", 20), want: "HTTP/1.1 200 OK"},
		"1 MiB":            {headers: strings.Repeat("a:\n", 1<<20/3), want: "HTTP/1.1 431 Request Header Fields Too Large"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner, end := start(t, logr.Discard(), func(http.ResponseWriter, *http.Request) {})
				defer end()
				c, err := dialTLS(t, inner)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if got := ask(t, c, "POST /hook HTTP/1.1\r\nHost: webhook\r\n"+tc.headers+"\r\n"); got != tc.want {
					t.Errorf("got %q, want %q", got, tc.want)
				}
			})
		})
	}
}

func TestServerEndsConnectionsThatWait(t *testing.T) {
	for name, tc := range map[string]struct {
		send   string // after the handshake
		silent bool   // no handshake at all
		want   time.Duration
	}{
		"no handshake": {silent: true, want: headerTimeout},
		"no request":   {want: headerTimeout},
		"half headers": {send: "POST /hook HTTP/1.1\r\na: b\r\n", want: headerTimeout},
		"half a body":  {send: "POST /hook HTTP/1.1\r\nHost: webhook\r\nContent-Length: 9\r\n\r\nhalf", want: bodyTimeout},
		"an answer":    {send: "POST /hook HTTP/1.1\r\nHost: webhook\r\nContent-Length: 0\r\n\r\n", want: idleTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner, end := start(t, logr.Discard(), func(_ http.ResponseWriter, req *http.Request) { _, _ = io.ReadAll(req.Body) })
				defer end()
				client := inner.dial(unknown)
				if !tc.silent {
					secure := tls.Client(client, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
					if err := secure.Handshake(); err != nil {
						t.Fatal(err)
					}
					client = secure
				}
				defer client.Close()
				begun := time.Now()
				go func() { _, _ = io.WriteString(client, tc.send) }()
				_, _ = io.Copy(io.Discard, client)
				if got := time.Since(begun); got != tc.want {
					t.Errorf("the connection ended after %s, want %s", got, tc.want)
				}
			})
		})
	}
}

// A client that reads no answer does not keep its hook.
func TestServerEndsUnreadAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan time.Time)
		inner, end := start(t, logr.Discard(), func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					ended <- time.Now()
					return
				}
			}
		})
		defer end()
		c, err := dialTLS(t, inner)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if _, err := io.WriteString(c, "POST /hook HTTP/1.1\r\nHost: webhook\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		select {
		case at := <-ended:
			const alert = 5 * time.Second // crypto/tls's, which is not read either
			if got := at.Sub(begun); got > answerTimeout+alert {
				t.Errorf("the answer ended after %s, want %s", got, answerTimeout)
			}
		case <-time.After(time.Hour): // of the bubble
			t.Error("the hook still answers after an hour")
		}
		_ = c.NetConn().Close()
	})
}

func TestServerBoundsItsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, end := start(t, logr.Discard(), func(http.ResponseWriter, *http.Request) {})
		defer end()
		var closed atomic.Int32
		for range maxConnections + 1 {
			c := inner.dial(unknown)
			defer c.Close()
			go func() {
				_, _ = io.Copy(io.Discard, c)
				closed.Add(1)
			}()
			synctest.Wait()
		}
		if n := closed.Load(); n != 1 {
			t.Errorf("%d of %d connections are closed, want one", n, maxConnections+1)
		}
	})
}

func TestServerRefusesOldTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, end := start(t, logr.Discard(), func(http.ResponseWriter, *http.Request) {})
		defer end()
		c := tls.Client(inner.dial(unknown), &tls.Config{
			InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11,
		})
		defer c.Close()
		if err := c.Handshake(); err == nil {
			t.Errorf("it speaks %s", tls.VersionName(c.ConnectionState().Version))
		}
	})
}

func TestServerAsksItsGuardFirst(t *testing.T) {
	s := New(0, logr.Discard())
	s.Register("/hook", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	s.Guard = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Header.Get("Secret") == "" {
				http.NotFound(w, req)
				return
			}
			next.ServeHTTP(w, req)
		})
	}
	handler := s.newHTTPServer(t.Context()).Handler
	for secret, want := range map[string]int{"": http.StatusNotFound, "known": http.StatusOK} {
		w, req := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/hook", http.NoBody)
		req.Header.Set("Secret", secret)
		if handler.ServeHTTP(w, req); w.Code != want {
			t.Errorf("status %d with secret %q, want %d", w.Code, secret, want)
		}
	}
}

func TestServerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, end := start(t, logr.Discard(), func(w http.ResponseWriter, req *http.Request) {
			<-req.Context().Done() // as a hook does that waits for AWS
			w.WriteHeader(http.StatusTeapot)
		})
		c, err := dialTLS(t, inner)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		answer := make(chan string, 1)
		go func() { answer <- ask(t, c, "POST /hook HTTP/1.1\r\nHost: webhook\r\n\r\n") }()
		synctest.Wait()
		end()
		if got, want := <-answer, "HTTP/1.1 418 I'm a teapot"; got != want {
			t.Errorf("a hook at work got its answer to the client as %q, want %q", got, want)
		}
	})
}

func TestServerIsReadyOnceItListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(0, logr.Discard())
		if s.StartedChecker()(nil) == nil {
			t.Error("ready before it listens")
		}
		ctx, cancel := context.WithCancel(t.Context())
		inner := newPipes()
		go func() { _ = s.serve(ctx, inner) }()
		synctest.Wait()
		if err := s.StartedChecker()(nil); err != nil {
			t.Errorf("not ready although it listens: %v", err)
		}
		cancel()
		close(inner.accept)
	})
}

func TestServerSaysWhatItCannotListenOn(t *testing.T) {
	taken, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	err = New(taken.Addr().(*net.TCPAddr).Port, logr.Discard()).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "listening for webhooks") {
		t.Errorf("Start() = %v, want an error that says so", err)
	}
}

func TestServerLogsFewOfManyFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
		inner, end := start(t, log, func(http.ResponseWriter, *http.Request) {})
		lines = nil
		for range 100 {
			c := inner.dial(unknown)
			_, _ = fmt.Fprint(c, "no TLS at all\n\n")
			_ = c.Close()
			synctest.Wait()
		}
		end()
		if len(lines) == 0 || len(lines) > 5 || !strings.Contains(lines[0], "Connection failed") {
			t.Errorf("%d lines: %q; want a few about failed connections", len(lines), lines)
		}
	})
}
