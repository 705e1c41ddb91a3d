// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net/netip"
	"time"

	"github.com/go-logr/logr"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// Options configure a Plane; the zero value forwards from 127.0.0.1 to 127.a.b.c for a target 10.a.b.c.
type Options struct {
	// Host is the address that front doors listen on.
	Host string
	// Map translates a target's address to one that can be dialled; MapAddress when nil.
	Map func(address string) (string, error)
	// ConnectTimeout and IdleTimeout (waiting for an answer) are scaled; 10 s and 60 s when 0.
	ConnectTimeout, IdleTimeout time.Duration
	// MaxRequests is how many requests Requests keeps, the first ones; a million when 0. Traffic counts them all.
	MaxRequests int
	// Client translates a client's address to the one that rules and security groups of load balancers see; the other way round than
	// MapAddress when nil: 127.a.b.c is 10.a.b.c.
	Client func(netip.Addr) netip.Addr
	// Certificate chooses what a client of an HTTPS listener gets; nil chooses among the listener's certificates of ACM as an ALB does.
	Certificate func(state.Listener, *tls.ClientHelloInfo) (*tls.Certificate, error)
	// Log gets front doors as they open and close.
	Log logr.Logger
}

func (o Options) withDefaults() Options {
	o.Host = cmp.Or(o.Host, "127.0.0.1")
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, 10*time.Second)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, time.Minute)
	o.MaxRequests = cmp.Or(o.MaxRequests, 1_000_000)
	if o.Map == nil {
		o.Map = MapAddress
	}
	if o.Client == nil {
		o.Client = mapClient
	}
	if o.Log.GetSink() == nil {
		o.Log = logr.Discard()
	}
	return o
}

func mapClient(addr netip.Addr) netip.Addr {
	if !addr.Is4() || !addr.IsLoopback() {
		return addr
	}
	mapped := addr.As4()
	mapped[0] = 10
	return netip.AddrFrom4(mapped)
}

// MapAddress turns 10.a.b.c into 127.a.b.c, keeps loopback addresses, and refuses all others.
func MapAddress(address string) (string, error) {
	addr, err := netip.ParseAddr(address)
	if err != nil {
		return "", fmt.Errorf("mapping target address: %w", err)
	}
	if addr.IsLoopback() {
		return address, nil
	}
	if !addr.Is4() || addr.As4()[0] != 10 {
		return "", fmt.Errorf("mapping target address: %s is not in 10.0.0.0/8", address)
	}
	mapped := addr.As4()
	mapped[0] = 127
	return netip.AddrFrom4(mapped).String(), nil
}

// MapAddressIPv6 is MapAddress that also sends every IPv6 target to ::1, where ports have to tell targets apart.
func MapAddressIPv6(address string) (string, error) {
	if addr, err := netip.ParseAddr(address); err == nil && addr.Is6() {
		return netip.IPv6Loopback().String(), nil
	}
	return MapAddress(address)
}
