// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/targetgate/targetgate/e2e/emulator/routing"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// prepareTCP has the door pass connections on.
func (d *door) prepareTCP() {
	ctx, cancel := context.WithCancel(d.plane.ctx)
	d.close = func() {
		cancel()
		_ = d.socket.Close() // there is nobody to tell
	}
	context.AfterFunc(ctx, func() { _ = d.socket.Close() })
	d.serve = func(socket net.Listener) { d.plane.work.Go(func() { d.accept(ctx, socket) }) }
}

func (d *door) accept(ctx context.Context, socket net.Listener) {
	for {
		client, err := socket.Accept()
		if err != nil {
			return
		}
		d.plane.work.Go(func() { d.pass(ctx, client.(*net.TCPConn)) })
	}
}

// pass takes one connection to one target, to the end.
func (d *door) pass(ctx context.Context, client *net.TCPConn) {
	start := d.plane.now()
	rule, _ := d.plane.machine.Decide(d.listener.ARN, routing.Request{}) // the default one
	group := d.choose(rule.ListenerRule)
	target, address, err := d.pick(rule, group)
	if err == nil {
		err = d.join(ctx, client, group, target, address)
	} else {
		reset(client)
	}
	d.record(Request{Start: start, Group: group, Target: target.Key}, err)
}

// join carries bytes both ways until both sides are done or the flow is cut.
func (d *door) join(ctx context.Context, client *net.TCPConn, group string, target state.Target, address string) error {
	flight, landed := d.board(ctx, group, target)
	defer landed()
	to := route{group: group, target: target}
	if isARN(target.Address) {
		to.client, _ = client.RemoteAddr().(*net.TCPAddr)
	}
	conn, err := d.dial(flight, to, address)
	if err != nil {
		reset(client)
		return err
	}
	server := conn.(*net.TCPConn)
	defer server.Close()
	defer client.Close()
	unhook := context.AfterFunc(flight, func() {
		reset(client)
		reset(server)
	})
	defer unhook()
	var there, back error
	var both sync.WaitGroup
	both.Go(func() { there = oneWay(server, client) })
	both.Go(func() { back = oneWay(client, server) })
	both.Wait()
	if flight.Err() != nil {
		return errCut
	}
	return errors.Join(there, back)
}

// oneWay copies until the source is done and passes the end on.
func oneWay(to, from *net.TCPConn) error {
	_, err := io.Copy(to, from)
	if err != nil {
		reset(to)
		reset(from)
		return err
	}
	return to.CloseWrite()
}

// reset closes a connection so that the other side sees an error, not an end.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0) // fails only when it is closed already
	_ = conn.Close()
}
