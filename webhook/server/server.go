// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
)

const (
	// maxConnections may be open at the same time on the webhooks' port. An API server has one for each review in progress, and keeps
	// up to 25.
	maxConnections = 256
	// maxHeaderBytes is about 30 times what API servers send.
	maxHeaderBytes = 16 << 10
	// headerTimeout applies to the handshake, and then to each request's headers.
	headerTimeout = 5 * time.Second
	// bodyTimeout applies to headers and body, unless a hook sets a shorter one.
	bodyTimeout = 10 * time.Second
	// answerTimeout is the time from the end of the headers until the answer has been sent. API servers wait for 10 s.
	answerTimeout = 15 * time.Second
	// idleTimeout is longer than API servers keep an idle connection (90 s). So they close it, never both sides at once.
	idleTimeout = 2 * time.Minute
	// lastAnswers is how long answers in progress may take at shutdown.
	lastAnswers = time.Second
)

// Server is a controller-runtime webhook server with our own listener and limits. controller-runtime's server limits neither
// connections nor the time that bodies and answers take, and accepts no handler in front of its mux.
type Server struct {
	ctrlwebhook.Server // where hooks are registered, and counted
	// Guard wraps the hooks, and may change requests to them; nil means none.
	Guard func(http.Handler) http.Handler

	mux       *http.ServeMux
	port      int
	config    *tls.Config
	log       logr.Logger
	listening atomic.Bool
}

// New returns a server for the port. The options change its TLS configuration; one of them must set the certificate.
func New(port int, log logr.Logger, options ...func(*tls.Config)) *Server {
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	for _, option := range options {
		option(config)
	}
	mux := http.NewServeMux()
	return &Server{Server: ctrlwebhook.NewServer(ctrlwebhook.Options{WebhookMux: mux}), mux: mux, port: port, config: config, log: log}
}

// Start serves until ctx ends, which also ends the contexts of running hooks. Then it waits at most lastAnswers for answers.
func (s *Server) Start(ctx context.Context) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort("", strconv.Itoa(s.port)))
	if err != nil {
		return fmt.Errorf("listening for webhooks: %w", err)
	}
	s.log.Info("Serving webhooks", "port", s.port)
	return s.serve(ctx, listener)
}

func (s *Server) serve(ctx context.Context, listener net.Listener) error {
	server := s.newHTTPServer(ctx)
	closed := make(chan struct{})
	running := context.AfterFunc(ctx, func() {
		defer close(closed)
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAnswers)
		defer cancel()
		if server.Shutdown(ending) != nil {
			_ = server.Close()
		}
	})
	s.listening.Store(true)
	err := server.ServeTLS(newListener(listener, maxConnections), "", "")
	if !running() {
		<-closed
		return nil
	}
	return fmt.Errorf("serving webhooks: %w", err)
}

func (s *Server) newHTTPServer(ctx context.Context) *http.Server {
	var handler http.Handler = s.mux
	if s.Guard != nil {
		handler = s.Guard(s.mux)
	}
	server := newHTTPServer(s.log, handler)
	server.TLSConfig = s.config
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	return server
}

// newHTTPServer returns a server with the limits of all ports: HTTP/1.1 only, headers, times, the log.
func newHTTPServer(logger logr.Logger, handler http.Handler) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler: handler, Protocols: protocols, MaxHeaderBytes: maxHeaderBytes,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, WriteTimeout: answerTimeout, IdleTimeout: idleTimeout,
		ErrorLog: log.New(&errorLog{log: logger, now: flowcontrol.NewTokenBucketRateLimiter(0.1, 3)}, "", 0),
	}
}

// WebhookMux returns the mux that hooks are registered with.
func (s *Server) WebhookMux() *http.ServeMux { return s.mux }

// StartedChecker returns a check that fails until the server listens.
func (s *Server) StartedChecker() healthz.Checker {
	return func(*http.Request) error {
		if !s.listening.Load() {
			return errors.New("the webhook server is not listening yet")
		}
		return nil
	}
}

// errorLog logs what net/http writes about connections, above all failed handshakes: a few lines, or all in debug mode.
type errorLog struct {
	log logr.Logger
	now flowcontrol.PassiveRateLimiter
}

// Write logs one line.
func (e *errorLog) Write(line []byte) (int, error) {
	level := 1
	if e.now.TryAccept() {
		level = 0
	}
	e.log.V(level).Info("Connection failed", "err", strings.TrimSpace(string(line)))
	return len(line), nil
}
