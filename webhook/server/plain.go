// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// maxPlainConnections may be open at the same time on the port of metrics, and as many on that of probes. Kubelets and Prometheus need
// a few.
const maxPlainConnections = 64

// NewPlain returns a server of plain HTTP at the address, on which it listens from now on: of metrics or probes. It has the limits of the
// webhooks' port, with maxPlainConnections, which controller-runtime's servers do not have.
func NewPlain(ctx context.Context, name, address string, log logr.Logger, handler http.Handler) (*manager.Server, error) {
	var config net.ListenConfig
	inner, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening for %s: %w", name, err)
	}
	return newPlain(inner, name, log, handler), nil
}

func newPlain(inner net.Listener, name string, log logr.Logger, handler http.Handler) *manager.Server {
	end := lastAnswers
	return &manager.Server{
		Name: name, Listener: newListener(inner, maxPlainConnections), Server: newHTTPServer(log, handler), ShutdownTimeout: &end,
	}
}
