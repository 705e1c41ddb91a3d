// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// listener bounds how many connections are open. It never makes a newcomer wait: when there are too many, the address that
// has most of them loses the one that has been quiet for longest. So whoever opens connections without end closes their own,
// and an API server keeps its few as long as others have more each.
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

// add counts the connection, and returns the one that has to go for it, if any.
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
	}
	return victim
}

// heaviest are the connections of the address that has most of them: of that of the newcomer, if another has as many.
func (l *listener) heaviest(newcomer string) map[*connection]struct{} {
	most := l.addresses[newcomer]
	for _, connections := range l.addresses {
		if len(connections) > len(most) {
			most = connections
		}
	}
	return most
}

// quietest is the connection that has sent nothing for longest, and the newcomer only if there is no other.
func quietest(connections map[*connection]struct{}, newcomer *connection) *connection {
	found := newcomer
	for c := range connections {
		if c != newcomer && (found == newcomer || c.heard.Load() < found.heard.Load()) {
			found = c
		}
	}
	return found
}

// remove says whether the connection was counted until now.
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

// connection is one that is counted until it is closed.
type connection struct {
	net.Conn
	listener *listener
	address  string
	heard    atomic.Int64 // when something came, in nanoseconds
}

func (c *connection) touch() { c.heard.Store(time.Now().UnixNano()) }

// Read notes that something came.
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
