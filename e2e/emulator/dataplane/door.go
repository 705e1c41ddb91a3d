// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strconv"
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
	turns    turns
	// inside is where Network Load Balancers connect that have this one as a target; nil until one does. They have asked the security
	// groups themselves.
	inside net.Listener
	// serve begins to serve a socket, close ends the door and all that goes through it.
	serve func(net.Listener)
	close func()
}

// FrontDoor returns host:port of a listener that forwards to the group, by its default action or a rule, that of the lowest port if there
// are several; "" when there is none.
func (p *Plane) FrontDoor(groupARN string) string {
	return p.doorAddress(func(l state.Listener) bool { return p.machine.Uses(l.ARN, groupARN) })
}

// ListenerDoor returns host:port of a listener, "" when there is none.
func (p *Plane) ListenerDoor(listenerARN string) string {
	return p.doorAddress(func(l state.Listener) bool { return l.ARN == listenerARN })
}

func (p *Plane) doorAddress(fits func(state.Listener) bool) string {
	p.syncDoors()
	p.mu.Lock()
	defer p.mu.Unlock()
	var found *door
	for _, d := range p.doors {
		if fits(d.listener) && (found == nil || d.listener.Port < found.listener.Port) {
			found = d
		}
	}
	if found == nil {
		return ""
	}
	return found.socket.Addr().String()
}

// syncDoors opens and closes doors so that each TCP or HTTP listener of an active load balancer has one.
func (p *Plane) syncDoors() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return
	}
	listeners := p.machine.ActiveListeners()
	for arn, d := range p.doors {
		same := func(l state.Listener) bool {
			return l.ARN == arn && l.Port == d.listener.Port && l.Protocol == d.listener.Protocol
		}
		if !slices.ContainsFunc(listeners, same) {
			d.close()
			delete(p.doors, arn)
			p.opts.Log.Info("front door closed", "listener", arn)
		}
	}
	for _, l := range listeners {
		if p.doors[l.ARN] == nil && l.Protocol != "UDP" {
			p.open(l)
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
	switch l.Protocol {
	case state.ProtocolHTTP:
		d.prepareHTTP(func(socket net.Listener) net.Listener { return socket })
	case state.ProtocolHTTPS:
		d.prepareHTTP(func(socket net.Listener) net.Listener { return tls.NewListener(socket, d.tlsConfig()) })
	default:
		d.prepareTCP()
	}
	d.serve(d.guard(socket))
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

// pick takes the next target in turn of one of the rule's groups, and where to dial it.
func (d *door) pick(rule state.Decision, group string) (target state.Target, address string, err error) {
	routes := rule.Routes[group]
	if len(routes) == 0 {
		return state.Target{}, "", errNoTarget
	}
	target = routes[d.turns.next(group)%uint64(len(routes))]
	address, err = d.plane.address(target, target.Port)
	return target, address, err
}

// board notes a flight to a target; ctx ends when the flight is cut, landed when it is over.
func (d *door) board(ctx context.Context, group string, target state.Target) (flight context.Context, landed func()) {
	flight, cancel := context.WithCancel(ctx)
	done := d.plane.flights.add(flightKey{group, target.Key}, cancel)
	return flight, func() {
		done()
		cancel()
	}
}

// record writes down a request that is over.
func (d *door) record(r Request, err error) {
	r.Listener, r.End = d.listener.ARN, d.plane.now()
	if err != nil {
		r.Err = err.Error()
	}
	d.plane.traffic.add(r)
}

func (p *Plane) now() time.Time { return p.cloud.Region.Clock().Now() }
