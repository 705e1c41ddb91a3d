// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/ec2"
)

// DefaultQuota is how many inbound rules of a family EC2 lets a security group have.
const DefaultQuota = 60

// API is safe for concurrent use. The zero value has nothing in it. Its fields are set before the first call.
type API struct {
	// Before, when set, runs before every call, outside the lock; an error it returns is the call's answer.
	Before func(ctx context.Context, call Call) error

	// Clock is the one that SetLag goes by, the real one when nil.
	Clock clock.PassiveClock

	// Quota is how many inbound rules of a family a security group may have; 0 is DefaultQuota.
	Quota int

	// PageSize is how much of anything is in a page; 0 is as much as the call asks for.
	PageSize int

	mu         sync.Mutex
	lag        time.Duration
	groups     map[string]*group
	interfaces map[string]networkInterface
	instances  map[string]ec2.Instance
	calls      []Call
}

var _ ec2.API = (*API)(nil)

// Call is one call that was made.
type Call struct {
	Operation string
	IDs       []string            // of a Describe call, sorted
	Filters   map[string][]string // of a Describe call, by name, sorted; nil when there is none
	Group     string              // of AuthorizeSecurityGroupIngress and RevokeSecurityGroupIngress
	Rules     []ec2.Permission    // of these, as they were sent and with canonical CIDRs; those that are none are left out
}

type networkInterface struct {
	ec2.Interface
	vpc string
}

// SetLag has calls that describe security groups answer with the rules that these had so long ago.
func (a *API) SetLag(lag time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lag = lag
}

// AddInterface adds a network interface, or replaces the one of its ID.
func (a *API) AddInterface(vpc string, i ec2.Interface) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.addInterface(vpc, i)
}

func (a *API) addInterface(vpc string, i ec2.Interface) {
	if a.interfaces == nil {
		a.interfaces = map[string]networkInterface{}
	}
	a.interfaces[i.ID] = networkInterface{Interface: i, vpc: vpc}
}

// AddInstance adds an instance and its network interfaces, or replaces those of their IDs.
func (a *API) AddInstance(vpc string, i ec2.Instance) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.instances == nil {
		a.instances = map[string]ec2.Instance{}
	}
	a.instances[i.ID] = i
	for _, each := range i.Interfaces {
		a.addInterface(vpc, each)
	}
}

// Calls are the calls so far, of one operation, or of all when it is empty.
func (a *API) Calls(operation string) []Call {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []Call
	for _, call := range a.calls {
		if operation == "" || call.Operation == operation {
			out = append(out, call)
		}
	}
	return out
}

// begin records the call.
func (a *API) begin(ctx context.Context, call Call) error {
	if a.Before != nil {
		if err := a.Before(ctx, call); err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, call)
	return nil
}

func (a *API) now() time.Time {
	if a.Clock == nil {
		return time.Now()
	}
	return a.Clock.Now()
}

// sortedBy are the values of m in the order of their keys.
func sortedBy[V any](m map[string]V) []V {
	var out []V
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[key])
	}
	return out
}
