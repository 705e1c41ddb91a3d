// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"maps"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// listener limits the number of open connections. It never makes a new connection wait: if there are too many, it closes the
// connection that has been idle longest, of the address with most connections, or of all if no address has more than one. So a client
// that opens connections without end closes its own, and an API server keeps its few as long as others have more. Behind
// x/net/netutil.LimitListener new connections wait until an old one is closed: one client could lock out API servers.
type listener struct {
	net.Listener
	most int

	mu        sync.Mutex
	count     int
	addresses map[string]map[*connection]struct{}
}

func newListener(inner net.Listener, most int) *listener {
	return &listener{Listener: inner, most: most, addresses: map[string]map[*connection]struct{}{}}
}

// Accept returns the next connection.
func (l *listener) Accept() (net.Conn, error) {
	inner, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: inner, listener: l, address: addressOf(inner)}
	c.touch()
	if victim := l.add(c); victim != nil {
		_ = victim.Close()
	}
	return c, nil
}

func addressOf(c net.Conn) string {
	if remote, isTCP := c.RemoteAddr().(*net.TCPAddr); isTCP {
		return remote.IP.String()
	}
	return c.RemoteAddr().String()
}

// add counts the connection, and returns the one to close for it, if any.
func (l *listener) add(c *connection) (victim *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.addresses[c.address] == nil {
		l.addresses[c.address] = map[*connection]struct{}{}
	}
	l.addresses[c.address][c] = struct{}{}
	l.count++
	if l.count > l.most {
		victim = quietest(l.heaviest(c.address), c)
		if victim == c {
			victim = quietest(l.all(), c)
		}
	}
	return victim
}

// heaviest returns the connections of the address with most connections. In a tie, it prefers the
// new connection's address.
func (l *listener) heaviest(newcomer string) map[*connection]struct{} {
	most := l.addresses[newcomer]
	for _, connections := range l.addresses {
		if len(connections) > len(most) {
			most = connections
		}
	}
	return most
}

// all returns the connections of all addresses.
func (l *listener) all() map[*connection]struct{} {
	all := make(map[*connection]struct{}, l.count)
	for _, connections := range l.addresses {
		maps.Copy(all, connections)
	}
	return all
}

// quietest returns the connection that has been idle longest, and the new one only if there is no other.
func quietest(connections map[*connection]struct{}, newcomer *connection) *connection {
	found := newcomer
	for c := range connections {
		if c != newcomer && (found == newcomer || c.heard.Load() < found.heard.Load()) {
			found = c
		}
	}
	return found
}

// remove stops counting the connection, and reports whether it was counted until now.
func (l *listener) remove(c *connection) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	connections := l.addresses[c.address]
	if _, counted := connections[c]; !counted {
		return false
	}
	delete(connections, c)
	if len(connections) == 0 {
		delete(l.addresses, c.address)
	}
	l.count--
	return true
}

// connection is a connection that is counted until it is closed.
type connection struct {
	net.Conn
	listener *listener
	address  string
	heard    atomic.Int64 // time of the last read, in nanoseconds
}

func (c *connection) touch() { c.heard.Store(time.Now().UnixNano()) }

// Read reads, and records the time.
func (c *connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.touch()
	}
	return n, err
}

// Close closes the connection once.
func (c *connection) Close() error {
	if !c.listener.remove(c) {
		return net.ErrClosed
	}
	return c.Conn.Close()
}
