// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// check makes one health check and reports it.
func (p *Plane) check(probe state.Probe) {
	ctx, cancel := context.WithTimeout(p.ctx, probe.Timeout)
	defer cancel()
	result := state.Result{Failed: true}
	if !p.admitted(route{group: probe.Group, target: probe.Target}, probe.Port) {
		<-ctx.Done()
		result = state.Result{TimedOut: true}
	} else if address, err := p.address(probe.Target, probe.Port); err == nil {
		result = p.ask(ctx, probe, address)
	}
	if p.ctx.Err() == nil {
		p.machine.Report(probe, result)
	}
}

func (p *Plane) ask(ctx context.Context, probe state.Probe, address string) state.Result {
	if probe.Protocol == state.ProtocolTCP {
		return askTCP(ctx, address)
	}
	url := strings.ToLower(probe.Protocol) + "://" + address + probe.Path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return state.Result{Failed: true}
	}
	req.Header.Set("User-Agent", "ELB-HealthChecker/2.0")
	resp, err := p.checks.RoundTrip(req) // not a client: redirects are not followed
	if err != nil {
		return failure(err)
	}
	defer resp.Body.Close()
	return state.Result{Code: resp.StatusCode}
}

func askTCP(ctx context.Context, address string) state.Result {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return failure(err)
	}
	defer conn.Close()
	return state.Result{}
}

func failure(err error) state.Result {
	if timedOut(err) {
		return state.Result{TimedOut: true}
	}
	return state.Result{Failed: true}
}

func timedOut(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &network) && network.Timeout()
}
