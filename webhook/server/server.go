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
	// maxConnections are open at the same time. An API server has one for each review under way, and keeps up to 25.
	maxConnections = 256
	// maxHeaderBytes is some 30 times what API servers send.
	maxHeaderBytes = 16 << 10
	// headerTimeout holds for the handshake, and then for each request's headers.
	headerTimeout = 5 * time.Second
	// bodyTimeout holds for headers and body where no hook has a shorter one.
	bodyTimeout = 10 * time.Second
	// answerTimeout is from the end of the headers until the answer has been sent. API servers wait for 10 s.
	answerTimeout = 15 * time.Second
	// idleTimeout is longer than API servers keep a connection that nobody uses (90 s): they close it, and not just as we do.
	idleTimeout = 2 * time.Minute
	// lastAnswers is how long answers that are on their way may take when the server ends.
	lastAnswers = time.Second
)

// Server is a webhook server of controller-runtime's kind, with a port of its own.
type Server struct {
	ctrlwebhook.Server // where hooks are registered, and counted
	// Guard stands before the hooks, and may change what they are asked; nil is none.
	Guard func(http.Handler) http.Handler

	mux       *http.ServeMux
	port      int
	config    *tls.Config
	log       logr.Logger
	listening atomic.Bool
}

// New returns a server for the port. The options change its TLS configuration, which has to get a certificate from one of them.
func New(port int, log logr.Logger, options ...func(*tls.Config)) *Server {
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	for _, option := range options {
		option(config)
	}
	mux := http.NewServeMux()
	return &Server{Server: ctrlwebhook.NewServer(ctrlwebhook.Options{WebhookMux: mux}), mux: mux, port: port, config: config, log: log}
}

// Start serves until ctx ends. Hooks at work are told by their own context then, and not waited for.
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
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	var handler http.Handler = s.mux
	if s.Guard != nil {
		handler = s.Guard(s.mux)
	}
	return &http.Server{
		Handler: handler, TLSConfig: s.config, Protocols: protocols, MaxHeaderBytes: maxHeaderBytes,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, WriteTimeout: answerTimeout, IdleTimeout: idleTimeout,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    log.New(&errorLog{log: s.log, now: flowcontrol.NewTokenBucketRateLimiter(0.1, 3)}, "", 0),
	}
}

// WebhookMux is what hooks are registered with.
func (s *Server) WebhookMux() *http.ServeMux { return s.mux }

// StartedChecker returns a check that fails before the server listens.
func (s *Server) StartedChecker() healthz.Checker {
	return func(*http.Request) error {
		if !s.listening.Load() {
			return errors.New("the webhook server is not listening yet")
		}
		return nil
	}
}

// errorLog takes what net/http writes about connections, above all handshakes that fail: a few lines, or all in debug.
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
	e.log.V(level).Info("Webhook connection failed", "err", strings.TrimSpace(string(line)))
	return len(line), nil
}
