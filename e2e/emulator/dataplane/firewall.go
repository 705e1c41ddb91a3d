// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// admits reports whether security groups let the load balancer connect. One rule with a group of the load balancer is enough. Rules
// with address ranges must hold the addresses of all its nodes, since there is no telling here which of them connects.
func admits(in state.Inbound, protocol string, port int) bool {
	if !in.Enforced {
		return true
	}
	held := func(fits func(ec2.Source) bool) bool {
		return slices.ContainsFunc(in.Rules, func(r ec2.Rule) bool { return covers(r, protocol, port) && fits(r.Source) })
	}
	if held(func(s ec2.Source) bool { return slices.Contains(in.Groups, s.Group) }) {
		return true
	}
	outside := func(addr netip.Addr) bool {
		return !held(func(s ec2.Source) bool { return s.CIDR.Contains(addr) })
	}
	return len(in.Addresses) > 0 && !slices.ContainsFunc(in.Addresses, outside)
}

// covers reports whether a rule is about a protocol and port.
func covers(r ec2.Rule, protocol string, port int) bool {
	return r.Protocol == "-1" || r.Protocol == protocol && r.From <= port && port <= r.To
}

// admitted reports whether a group's load balancer may connect to a target's port.
func (p *Plane) admitted(to route, port int) bool {
	in := p.machine.Inbound(to.group, to.target)
	if to.client != nil {
		in.Addresses = []netip.Addr{p.client(to.client.String())}
	}
	return admits(in, "tcp", port)
}

// dial connects to a target. Where security groups do not let it in, nothing is heard until the time is over; a connection that
// is there already goes on when they change.
func (d *door) dial(ctx context.Context, to route, address string) (net.Conn, error) {
	timeout := d.plane.cloud.Region.Scaled(d.plane.opts.ConnectTimeout)
	if d.plane.admitted(to, to.target.Port) {
		dialer := net.Dialer{Timeout: timeout, LocalAddr: to.from()}
		return dialer.DialContext(ctx, "tcp", address)
	}
	timer := d.plane.cloud.Region.Clock().NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil, fmt.Errorf("connecting to %s: the security groups do not let it in: %w", to.target.Key, os.ErrDeadlineExceeded)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// routeKey is the key of a request's route in its context.
type routeKey struct{}

// route is where a request or a connection goes, and the client whose address it has there; nil is the load balancer's own.
type route struct {
	group  string
	target state.Target
	client *net.TCPAddr
}

// from is the address to connect from: that of a client on loopback, else any.
func (to route) from() net.Addr {
	if to.client == nil || !to.client.IP.IsLoopback() || to.client.IP.To4() == nil {
		return nil
	}
	return &net.TCPAddr{IP: to.client.IP}
}

// dialTarget is dial for a transport, which knows no targets.
func (d *door) dialTarget(ctx context.Context, _, address string) (net.Conn, error) {
	to, _ := ctx.Value(routeKey{}).(route)
	return d.dial(ctx, to, address)
}
