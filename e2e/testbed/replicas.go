// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
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

// SpreadWebhooks has the API server's connections to the webhooks lead to the replicas in turn, as kube-proxy does, until
// stop is called, whereupon they lead to the first one again. Cut ends those that are there, and has the API server make
// new ones; calls that are under way then fail.
func (b *Bed) SpreadWebhooks(ctx context.Context, replicas ...*Targetgate) (cut func(), stop func(context.Context) error, err error) {
	var config net.ListenConfig
	socket, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	s := &spreader{socket: socket, open: map[net.Conn]bool{}}
	for _, r := range replicas {
		s.backends = append(s.backends, fmt.Sprintf("127.0.0.1:%d", r.ports.webhook))
	}
	s.work.Go(s.accept)
	stop = func(ctx context.Context) error {
		err := b.pointWebhooks(ctx, b.Targetgate.ports.webhook)
		s.close()
		return err
	}
	if err := b.pointWebhooks(ctx, socket.Addr().(*net.TCPAddr).Port); err != nil {
		s.close()
		return nil, nil, err
	}
	return s.cut, stop, nil
}

// pointWebhooks applies the shipped webhook configuration, with another port.
func (b *Bed) pointWebhooks(ctx context.Context, port int) error {
	return b.Cluster.InstallWebhooks(ctx, filepath.Join(b.root, "config/webhook/manifests.yaml"), port)
}

// spreader passes connections on to backends in turn.
type spreader struct {
	socket   net.Listener
	backends []string
	work     sync.WaitGroup

	mu   sync.Mutex
	open map[net.Conn]bool // both ends of all connections
}

func (s *spreader) accept() {
	for turn := 0; ; turn++ {
		client, err := s.socket.Accept()
		if err != nil {
			return // closed
		}
		s.work.Go(func() { s.pass(client, s.backends[turn%len(s.backends)]) })
	}
}

// pass takes a connection to a backend, to the end of either side. Where nobody listens it is closed.
func (s *spreader) pass(client net.Conn, backend string) {
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

func (s *spreader) keep(connections ...net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range connections {
		s.open[c] = true
	}
}

func (s *spreader) drop(connections ...net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range connections {
		_ = c.Close()
		delete(s.open, c)
	}
}

func (s *spreader) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		_ = c.Close()
	}
}

func (s *spreader) close() {
	_ = s.socket.Close()
	s.cut()
	s.work.Wait()
}
