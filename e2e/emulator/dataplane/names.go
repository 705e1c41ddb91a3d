// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"fmt"
	"net"
	"syscall"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// Resolve returns host:port of the front door behind the DNS name of a load balancer and the port of one of its listeners. A name
// of no load balancer is a *net.DNSError; a port without an open front door is syscall.ECONNREFUSED.
func (p *Plane) Resolve(host string, port int) (string, error) {
	b, ok := p.machine.BalancerNamed(host)
	if !ok {
		return "", &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	address := p.doorAddress(func(l state.Listener) bool { return l.LoadBalancer == b.ARN && l.Port == port })
	if address == "" {
		return "", fmt.Errorf("load balancer %s has no open listener on port %d: %w", b.Name, port, syscall.ECONNREFUSED)
	}
	return address, nil
}
