// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// lowestOwnPort is the first port that needs no privilege.
const lowestOwnPort = 1024

var errNoTarget = errors.New("no target")

// door is the socket of one listener.
type door struct {
	plane    *Plane
	listener state.Listener
	socket   net.Listener
	turn     atomic.Uint64
	// close ends the door and all that goes through it.
	close func()
}

// FrontDoor returns host:port of a listener that forwards to the group, "" when there is none.
func (p *Plane) FrontDoor(groupARN string) string {
	return p.doorAddress(func(l state.Listener) bool { return l.Group == groupARN })
}

// ListenerDoor returns host:port of a listener, "" when there is none.
func (p *Plane) ListenerDoor(listenerARN string) string {
	return p.doorAddress(func(l state.Listener) bool { return l.ARN == listenerARN })
}

func (p *Plane) doorAddress(fits func(state.Listener) bool) string {
	p.syncDoors()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.doors {
		if fits(d.listener) {
			return d.socket.Addr().String()
		}
	}
	return ""
}

func isARN(address string) bool { return strings.HasPrefix(address, "arn:") }

// balancerAddress finds the front door of an ALB that is itself a target.
func (p *Plane) balancerAddress(arn string, port int) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.doors {
		if d.listener.LoadBalancer == arn && d.listener.Port == port {
			return d.socket.Addr().String(), nil
		}
	}
	return "", fmt.Errorf("finding front door: %s has no listener on port %d", arn, port)
}

// syncDoors opens and closes doors so that each TCP or HTTP listener has one.
func (p *Plane) syncDoors() {
	p.mu.Lock()
	defer p.mu.Unlock()
	listeners, err := p.machine.Listeners("")
	if err != nil || p.ctx.Err() != nil {
		return
	}
	wanted := map[string]bool{}
	for _, l := range listeners {
		wanted[l.ARN] = true
		if p.doors[l.ARN] == nil && l.Protocol != "UDP" {
			p.open(l)
		}
	}
	for arn, d := range p.doors {
		if !wanted[arn] {
			d.close()
			delete(p.doors, arn)
			p.opts.Log.Info("front door closed", "listener", arn)
		}
	}
}

func (p *Plane) open(l state.Listener) {
	socket, err := p.listen(l.Port)
	if err != nil {
		p.opts.Log.Error(err, "opening front door", "listener", l.ARN)
		return
	}
	d := &door{plane: p, listener: l, socket: socket}
	if l.Protocol == state.ProtocolHTTP {
		d.serveHTTP()
	} else {
		d.serveTCP()
	}
	p.doors[l.ARN] = d
	p.opts.Log.Info("front door open", "address", socket.Addr().String(), "listener", l.ARN, "targetGroup", l.Group)
}

// listen takes the listener's own port if it is free and needs no privilege, else any port.
func (p *Plane) listen(port int) (net.Listener, error) {
	var config net.ListenConfig
	if port >= lowestOwnPort {
		socket, err := config.Listen(p.ctx, "tcp", net.JoinHostPort(p.opts.Host, strconv.Itoa(port)))
		if err == nil {
			return socket, nil
		}
	}
	return config.Listen(p.ctx, "tcp", net.JoinHostPort(p.opts.Host, "0"))
}

// pick takes the next target in turn and where to dial it.
func (d *door) pick() (target state.Target, address string, err error) {
	routes := d.plane.machine.Route(d.listener.Group)
	if len(routes) == 0 {
		return state.Target{}, "", errNoTarget
	}
	target = routes[(d.turn.Add(1)-1)%uint64(len(routes))]
	address, err = d.plane.address(target, target.Port)
	return target, address, err
}

// board notes a flight to a target; ctx ends when the flight is cut, landed when it is over.
func (d *door) board(ctx context.Context, target state.Target) (flight context.Context, landed func()) {
	flight, cancel := context.WithCancel(ctx)
	done := d.plane.flights.add(flightKey{d.listener.Group, target.Key}, cancel)
	return flight, func() {
		done()
		cancel()
	}
}

func (d *door) record(start time.Time, target state.Key, status int, err error) {
	r := Request{Start: start, End: d.plane.now(), Group: d.listener.Group, Target: target, Status: status}
	if err != nil {
		r.Err = err.Error()
	}
	d.plane.traffic.add(r)
}

func (p *Plane) now() time.Time { return p.machine.Options().Clock.Now() }
