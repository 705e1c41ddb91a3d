// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"bufio"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

func TestNLBPassesConnections(t *testing.T) {
	b := newBed(t, state.Network, Options{})
	server, target := pod(t, "0.7.1", says("ok"))
	b.register(target)
	b.waitHealth(target, state.Healthy)
	if status, body := b.get(); status != 200 || body != "ok" {
		t.Errorf("answer is %d %q", status, body)
	}
	b.eventually("record", func() bool { return b.plane.Traffic(b.group)[target.Key].Requests == 1 })
	server.Close()
	if err := b.readOnce(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("reading through a dead target: %v, want a reset", err)
	}
}

// readOnce connects to the front door and waits for a byte; the error may come early or late.
func (b *bed) readOnce() error {
	conn, err := net.Dial("tcp", b.plane.FrontDoor(b.group))
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second)) // fails only when it is closed
	_, err = conn.Read(make([]byte, 1))
	return err
}

// TestNLBFlowOutlivesTheDelay: an open flow goes on when its target is gone, unless termination is switched on.
func TestNLBFlowOutlivesTheDelay(t *testing.T) {
	for name, cut := range map[string]string{"goes on": "false", "is cut": "true"} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, state.Network, Options{})
			socket, err := net.Listen("tcp", "127.0.7.2:0")
			if err != nil {
				t.Fatal(err)
			}
			defer socket.Close()
			go echo(socket)
			target := state.Target{Key: state.Key{ID: "10.0.7.2", Port: socket.Addr().(*net.TCPAddr).Port}}
			changes := map[string]string{
				"deregistration_delay.timeout_seconds":                "0",
				"deregistration_delay.connection_termination.enabled": cut,
			}
			if _, err := b.machine.ModifyAttributes(b.group, changes); err != nil {
				t.Fatal(err)
			}
			b.register(target)
			b.waitHealth(target, state.Healthy)
			conn, err := net.Dial("tcp", b.plane.FrontDoor(b.group))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			lines := bufio.NewReader(conn)
			say := func() error {
				if _, err := io.WriteString(conn, "hello\n"); err != nil {
					return err
				}
				_, err := lines.ReadString('\n')
				return err
			}
			if err := say(); err != nil {
				t.Fatal(err)
			}
			b.deregister(target)
			b.eventually("end of routing", func() bool { return len(b.machine.Route(b.group)) == 0 })
			if err := say(); (err != nil) != (cut == "true") {
				t.Errorf("speaking past the delay: %v", err)
			}
		})
	}
}

func echo(socket net.Listener) {
	for {
		conn, err := socket.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			_, _ = io.Copy(conn, conn)
		}()
	}
}
