// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/dataplane"
	"github.com/targetgate/targetgate/e2e/emulator/iam"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
)

// Options configure an Emulator; the zero value is AWS's behaviour in real time on a free port.
type Options struct {
	// Listen is the address of the AWS endpoint, 127.0.0.1:0 when empty.
	Listen    string
	Cloud     cloud.Options
	Wire      wire.Options
	DataPlane dataplane.Options
}

// Emulator is a running one. The services of its Cloud are for set-up without API calls, and for what they have recorded.
type Emulator struct {
	*cloud.Cloud
	wire    *wire.Server
	plane   *dataplane.Plane
	url     string
	server  *http.Server
	serving sync.WaitGroup
}

// Start runs an emulator until it is closed or the context ends. It must run on the real clock.
func Start(ctx context.Context, opts Options) (*Emulator, error) {
	var config net.ListenConfig
	socket, err := config.Listen(ctx, "tcp", cmp.Or(opts.Listen, "127.0.0.1:0"))
	if err != nil {
		return nil, fmt.Errorf("opening the AWS endpoint: %w", err)
	}
	aws := cloud.New(opts.Cloud)
	e := &Emulator{
		Cloud: aws,
		wire:  wire.New(aws, opts.Wire),
		plane: dataplane.Start(ctx, aws, opts.DataPlane),
		url:   "http://" + socket.Addr().String(),
	}
	e.server = &http.Server{Handler: e.wire, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	e.serving.Go(func() { _ = e.server.Serve(socket) }) // always ends with an error, that of Close
	context.AfterFunc(ctx, func() { _ = e.server.Close() })
	return e, nil
}

// Close ends the endpoint, all front doors and all that is under way. Closing twice is fine.
func (e *Emulator) Close() error {
	err := e.server.Close()
	e.plane.Close()
	e.serving.Wait()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("closing the AWS endpoint: %w", err)
	}
	return nil
}

// URL is the endpoint for all AWS services.
func (e *Emulator) URL() string { return e.url }

// Journal returns the events of all targets from position since on.
func (e *Emulator) Journal(since int) []state.Event { return e.ELB.Journal(since) }

// Calls returns the answered API calls from position since on.
func (e *Emulator) Calls(since int) []wire.Call { return e.wire.Calls(since) }

// SetLimits replaces the API's token buckets by full ones.
func (e *Emulator) SetLimits(l wire.Limits) { e.wire.SetLimits(l) }

// SetGroupQuotas changes the limits of one group, so that calls for it are refused with TooManyTargets or
// TooManyRegistrationsForTargetId.
func (e *Emulator) SetGroupQuotas(groupARN string, q state.GroupQuotas) error {
	return e.ELB.SetGroupQuotas(groupARN, q)
}

// SetPolicies has a principal (an access key, or the ARN of a role) do only what these policies allow; none lets it do
// everything again.
func (e *Emulator) SetPolicies(principal string, policies ...iam.Policy) {
	e.wire.SetPolicies(principal, policies...)
}

// UnusedGrants are those of a principal's policies that no call has needed.
func (e *Emulator) UnusedGrants(principal string) []iam.Grant { return e.wire.UnusedGrants(principal) }

// Inject spoils API calls until the fault is used up or taken back.
func (e *Emulator) Inject(f wire.Fault) (remove func()) { return e.wire.Inject(f) }

// FrontDoor returns host:port at which a group's load balancer takes traffic in, "" when it is attached to none.
func (e *Emulator) FrontDoor(groupARN string) string { return e.plane.FrontDoor(groupARN) }

// Resolve returns host:port of the front door behind a load balancer's DNS name and a port, see dataplane.Plane.Resolve.
func (e *Emulator) Resolve(host string, port int) (string, error) { return e.plane.Resolve(host, port) }

// ListenerDoor returns host:port of a listener, "" until its load balancer is active.
func (e *Emulator) ListenerDoor(listenerARN string) string { return e.plane.ListenerDoor(listenerARN) }

// Requests returns the finished requests through front doors from position since on.
func (e *Emulator) Requests(since int) []dataplane.Request { return e.plane.Requests(since) }

// Traffic sums up a group's finished requests by target.
func (e *Emulator) Traffic(groupARN string) map[state.Key]dataplane.Traffic {
	return e.plane.Traffic(groupARN)
}
