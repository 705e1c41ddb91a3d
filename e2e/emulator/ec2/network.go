// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"regexp"
	"sync"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/record"
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/region"
)

// Options configure a Network; the zero value has one VPC.
type Options struct {
	// VPCs known to the account; DefaultVPC when empty.
	VPCs []VPC
	// Lag is how old the picture is that a call reads of security groups, interfaces and the tags of subnets, drawn for each call: a later
	// call may show an older one. nil is up to two seconds. What a call changes is always up to date.
	Lag *region.Range
	// RulesPerSecurityGroup is how many inbound rules of either address family a security group may have; 0 is 60, as for a new account.
	RulesPerSecurityGroup int
}

const defaultRulesPerGroup = 60

// Network is what there is in EC2. Safe for concurrent use. No other lock is taken while its own is held but that of the region.
type Network struct {
	region *region.Region
	opts   Options
	// changed is told when an instance has another state.
	changed func()
	changes *record.Log[RuleChange]

	mu          sync.Mutex
	instances   map[string]Instance
	groups      record.Histories[SecurityGroup]
	interfaces  record.Histories[Interface]
	subnetTags  record.Histories[map[string]string]
	free        map[string]int // addresses of a subnet, where they are not all
	prefixLists map[string]PrefixList
	quotas      map[string]int // inbound rules of a group, where they are not those of all
	uses        map[string]use // security groups of load balancers
}

// New makes a Network without instances, interfaces and security groups.
func New(in *region.Region, opts Options) *Network {
	if len(opts.VPCs) == 0 {
		opts.VPCs = []VPC{DefaultVPC(in.Name())}
	}
	if opts.Lag == nil {
		opts.Lag = &region.Range{Max: 2 * time.Second}
	}
	return &Network{
		region: in, opts: opts, changed: func() {}, changes: record.New[RuleChange](0),
		instances: map[string]Instance{}, groups: record.Histories[SecurityGroup]{}, interfaces: record.Histories[Interface]{},
		subnetTags: firstTags(opts.VPCs), free: map[string]int{}, prefixLists: map[string]PrefixList{}, quotas: map[string]int{},
		uses: map[string]use{},
	}
}

// OnInstances registers changed, which is called after each change of an instance. It is for one caller, before all other calls.
func (n *Network) OnInstances(changed func()) { n.changed = changed }

// enter locks the network and tells the time; leave unlocks it.
func (n *Network) enter() time.Time {
	n.mu.Lock()
	return n.region.Now()
}

func (n *Network) leave() { n.mu.Unlock() }

// oldest is the earliest time that a reader may be shown at now.
func (n *Network) oldest(now time.Time) time.Time { return now.Add(-n.region.Scaled(n.opts.Lag.Max)) }

// lagged draws the time that a reader is shown at now.
func (n *Network) lagged(now time.Time) time.Time { return now.Add(-n.region.Draw(*n.opts.Lag)) }

// newID makes an id as EC2 does: a prefix and 17 hexadecimal digits.
func (n *Network) newID(prefix string) string { return prefix + "0" + n.region.ID() }

var idForm = regexp.MustCompile(`^(i|eni|sg|pl|subnet)-([0-9a-f]{8}|[0-9a-f]{17})$`)

// WellFormed reports whether an id is one of a kind, such as sg-.
func WellFormed(prefix, id string) bool {
	return len(id) > len(prefix) && id[:len(prefix)] == prefix && idForm.MatchString(id)
}

func invalidValue(format string, args ...any) error {
	return refusal.New("InvalidParameterValue", format, args...)
}
