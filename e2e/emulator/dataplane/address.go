// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"fmt"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// address is where a target is dialled: host and port.
func (p *Plane) address(t state.Target, port int) (string, error) {
	if isARN(t.Address) {
		return p.balancerAddress(t.Address, port)
	}
	host, err := p.opts.Map(t.Address)
	if err != nil {
		return "", err
	}
	return state.Key{ID: host, Port: port}.String(), nil
}

func isARN(address string) bool { return strings.HasPrefix(address, "arn:") }

// balancerAddress is the way in to an ALB that is itself a target, past its guard.
func (p *Plane) balancerAddress(arn string, port int) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.doors {
		if d.listener.LoadBalancer == arn && d.listener.Port == port {
			return d.enter()
		}
	}
	return "", fmt.Errorf("finding front door: %s has no listener on port %d", arn, port)
}

// enter opens the way in that only other load balancers take; the plane must be locked.
func (d *door) enter() (string, error) {
	if err := d.plane.ctx.Err(); err != nil {
		return "", err
	}
	if d.inside == nil {
		socket, err := d.plane.listen(0)
		if err != nil {
			return "", fmt.Errorf("opening the way in from other load balancers: %w", err)
		}
		d.inside = socket
		d.serve(socket)
	}
	return d.inside.Addr().String(), nil
}
