// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"sync"
)

// StartReplica starts another targetgate beside those that are there, with the flags of the first, and returns when it
// is ready. It runs until it is stopped, or until Close. The API server calls the first one: see SpreadWebhooks.
func (b *Bed) StartReplica(ctx context.Context) (*Targetgate, error) {
	free, err := freePorts()
	if err != nil {
		return nil, err
	}
	replica := b.newTargetgate(1+len(b.replicas), free)
	replica.extra = slices.Clone(b.Targetgate.extra)
	b.replicas = append(b.replicas, replica)
	return replica, replica.Restart(ctx)
}

// Spreader passes the API server's connections to the webhooks on to replicas in turn, as kube-proxy does: a connection
// that is there stays with its replica, whatever becomes of that.
type Spreader struct {
	bed    *Bed
	socket net.Listener
	work   sync.WaitGroup

	mu       sync.Mutex
	backends []string
	open     map[net.Conn]bool // both ends of all connections
}

// SpreadWebhooks has the API server call the webhooks through a Spreader, until that is closed.
func (b *Bed) SpreadWebhooks(ctx context.Context, replicas ...*Targetgate) (*Spreader, error) {
	var config net.ListenConfig
	socket, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Spreader{bed: b, socket: socket, open: map[net.Conn]bool{}}
	s.Lead(replicas...)
	s.work.Go(s.accept)
	if err := b.pointWebhooks(ctx, socket.Addr().(*net.TCPAddr).Port); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// Lead has new connections lead to these replicas from now on.
func (s *Spreader) Lead(replicas ...*Targetgate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backends = nil
	for _, r := range replicas {
		s.backends = append(s.backends, fmt.Sprintf("127.0.0.1:%d", r.ports.webhook))
	}
}

// Cut ends the connections that are there, and has the API server make new ones; calls that are under way fail.
func (s *Spreader) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		_ = c.Close()
	}
}

// Close has the API server call the first targetgate again.
func (s *Spreader) Close(ctx context.Context) error {
	err := s.bed.pointWebhooks(ctx, s.bed.Targetgate.ports.webhook)
	s.close()
	return err
}

// ReplaceWebhooks applies the webhook configurations of another manifest from now on; "" is the shipped one.
func (b *Bed) ReplaceWebhooks(ctx context.Context, manifest string) error {
	b.webhooks = manifest
	return b.pointWebhooks(ctx, b.webhookPort)
}

// pointWebhooks applies the webhook configurations, with another port.
func (b *Bed) pointWebhooks(ctx context.Context, port int) error {
	b.webhookPort = port
	shipped := "config/webhook/manifests.yaml"
	if b.options.Provisioning {
		shipped = "config/provision/webhook/manifests.yaml"
	}
	return b.Cluster.InstallWebhooks(ctx, cmp.Or(b.webhooks, filepath.Join(b.root, shipped)), port)
}

func (s *Spreader) accept() {
	for turn := 0; ; turn++ {
		client, err := s.socket.Accept()
		if err != nil {
			return // closed
		}
		s.work.Go(func() { s.pass(client, s.backend(turn)) })
	}
}

func (s *Spreader) backend(turn int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.backends[turn%len(s.backends)]
}

// pass takes a connection to a backend, to the end of either side. Where nobody listens it is closed.
func (s *Spreader) pass(client net.Conn, backend string) {
	defer client.Close()
	var dialer net.Dialer
	server, err := dialer.DialContext(context.Background(), "tcp", backend)
	if err != nil {
		return
	}
	s.keep(client, server)
	defer s.drop(client, server)
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server) // the end of either side is no fault
		_ = client.Close()
	})
	_, _ = io.Copy(server, client)
	_ = server.Close()
	back.Wait()
}

func (s *Spreader) keep(connections ...net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range connections {
		s.open[c] = true
	}
}

func (s *Spreader) drop(connections ...net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range connections {
		_ = c.Close()
		delete(s.open, c)
	}
}

func (s *Spreader) close() {
	_ = s.socket.Close()
	s.Cut()
	s.work.Wait()
}
