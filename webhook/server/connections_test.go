// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// pipes is a listener of connections in memory, from addresses that are made up.
type pipes struct{ accept chan net.Conn }

type addressed struct {
	net.Conn
	remote net.Addr
}

func (c addressed) RemoteAddr() net.Addr { return c.remote }

func newPipes() *pipes { return &pipes{accept: make(chan net.Conn, 1000)} }

func (p *pipes) Accept() (net.Conn, error) {
	c, open := <-p.accept
	if !open {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p *pipes) Close() error { return nil }

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// dial is a client's connection from that address.
func (p *pipes) dial(address string) net.Conn {
	client, server := net.Pipe()
	p.accept <- addressed{server, &net.TCPAddr{IP: net.ParseIP(address), Port: len(p.accept)}}
	return client
}

const apiServer, unknown, other = "10.0.0.1", "10.0.0.2", "10.0.0.3"

// Each step accepts a connection of that address, a second after the one before.
func TestConnectionsAreSharedFairly(t *testing.T) {
	repeat := func(address string, times int) (out []string) {
		for range times {
			out = append(out, address)
		}
		return out
	}
	join := func(parts ...[]string) (out []string) {
		for _, part := range parts {
			out = append(out, part...)
		}
		return out
	}
	each := func(addresses int) (out []string) {
		for i := range addresses {
			out = append(out, fmt.Sprintf("10.1.0.%d", i))
		}
		return out
	}
	tests := map[string]struct {
		come []string
		want map[string]int
	}{
		"there is room":              {come: repeat(unknown, 8), want: map[string]int{unknown: 8}},
		"one has all":                {come: repeat(unknown, 20), want: map[string]int{unknown: 8}},
		"an API server comes late":   {come: join(repeat(unknown, 20), repeat(apiServer, 3)), want: map[string]int{unknown: 5, apiServer: 3}},
		"an API server was there":    {come: join(repeat(apiServer, 3), repeat(unknown, 20)), want: map[string]int{unknown: 5, apiServer: 3}},
		"an API server needs many":   {come: join(repeat(unknown, 20), repeat(apiServer, 20)), want: map[string]int{unknown: 4, apiServer: 4}},
		"each has an address":        {come: each(10), want: map[string]int{"10.1.0.2": 1, "10.1.0.3": 1, "10.1.0.4": 1, "10.1.0.5": 1, "10.1.0.6": 1, "10.1.0.7": 1, "10.1.0.8": 1, "10.1.0.9": 1}},
		"two clients share the most": {come: join(repeat(unknown, 9), repeat(other, 9), repeat(apiServer, 2)), want: map[string]int{unknown: 3, other: 3, apiServer: 2}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := newPipes()
				l := newListener(inner, 8)
				for _, address := range tc.come {
					client := inner.dial(address)
					defer client.Close()
					if _, err := l.Accept(); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Second)
				}
				got := map[string]int{}
				for address, connections := range l.addresses {
					got[address] = len(connections)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" || l.count > 8 {
					t.Errorf("%d connections, by address (-want +got):\n%s", l.count, diff)
				}
			})
		})
	}
}

func TestTheQuietestConnectionGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newPipes()
		l := newListener(inner, 2)
		var clients []net.Conn
		var servers []net.Conn
		for range 2 {
			clients = append(clients, inner.dial(apiServer))
			accepted, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			servers = append(servers, accepted)
			time.Sleep(time.Second)
		}
		go func() { _, _ = clients[0].Write([]byte("x")) }()
		if _, err := servers[0].Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		defer inner.dial(apiServer).Close()
		if _, err := l.Accept(); err != nil {
			t.Fatal(err)
		}
		if _, err := servers[1].Write([]byte("x")); err == nil {
			t.Error("the quietest connection is still open")
		}
		if l.count != 2 {
			t.Errorf("%d connections are counted, want 2", l.count)
		}
		for _, c := range append(servers, clients...) {
			_, _ = c.Close(), c.Close() // twice: net/http does so, too
		}
		if l.count != 1 {
			t.Errorf("%d connections are counted after these were closed, want the last one", l.count)
		}
	})
}
