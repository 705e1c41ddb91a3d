// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// dialTimeout is how long a node tries to reach a pod.
const dialTimeout = 10 * time.Second

// door is one node port of one node: a socket that passes each connection on to one of its backends, in turn. Connections
// live until one side ends them, or their node is removed: those that are there when a backend or the Service goes go on.
type door struct {
	node     *Node
	socket   net.Listener
	backends atomic.Pointer[[]netip.AddrPort] // never none
	turn     atomic.Uint64
}

// openDoor listens.
func (p *Proxy) openDoor(key doorKey, backends []netip.AddrPort) (*door, error) {
	address := netip.AddrPortFrom(key.node.Address, uint16(key.port))
	var config net.ListenConfig
	socket, err := config.Listen(key.node.Context, "tcp", address.String())
	if err != nil {
		return nil, err
	}
	d := &door{node: key.node, socket: socket}
	d.backends.Store(&backends)
	context.AfterFunc(key.node.Context, d.close)
	p.Go(func() {
		for {
			client, err := socket.Accept()
			if err != nil {
				return // closed
			}
			p.Go(func() { d.pass(client.(*net.TCPConn)) })
		}
	})
	return d, nil
}

// close stops listening; it may be called again.
func (d *door) close() { _ = d.socket.Close() }

// pick takes the next backend in turn.
func (d *door) pick() string {
	backends := *d.backends.Load()
	return backends[(d.turn.Add(1)-1)%uint64(len(backends))].String()
}

// pass takes one connection to one pod, to the end. A client whose pod does not answer is reset.
func (d *door) pass(client *net.TCPConn) {
	defer client.Close()
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(d.node.Context, "tcp", d.pick())
	if err != nil {
		reset(client)
		return
	}
	pod := conn.(*net.TCPConn)
	defer pod.Close()
	unhook := context.AfterFunc(d.node.Context, func() {
		reset(client)
		reset(pod)
	})
	defer unhook()
	var both sync.WaitGroup
	both.Go(func() { oneWay(pod, client) })
	both.Go(func() { oneWay(client, pod) })
	both.Wait()
}

// oneWay copies until the source is done and passes its end on, in the way it came.
func oneWay(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		reset(to)
		reset(from)
		return
	}
	_ = to.CloseWrite() // fails only when the other way has ended both
}

// reset closes a connection so that the other side sees an error, not an end.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0) // fails only when it is closed already
	_ = conn.Close()
}
