// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targetgroup

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
)

// Registrations are targets to register, and for which pod.
type Registrations map[elbv2.Target]types.UID

// Deregistrations are targets to deregister.
type Deregistrations map[elbv2.Target]Deregistration

// Deregistration is why a target has to be deregistered, and when.
type Deregistration struct {
	Why      string    // in an operator's words
	Since    time.Time // the moment its pod was deleted; zero when that is not why, or not known
	Deadline time.Time // by when AWS should have accepted it; zero is at once
	Stays    bool      // the target serves and is not replaced yet: it goes at its deadline, and not before
}

// together is how far the deadlines of targets that stay may lie apart for them to go in one call.
const together = 3 * time.Second

// staysPast reports whether the target is left out of a call for what is due then.
func (d Deregistration) staysPast(due time.Time) bool {
	return d.Stays && d.Deadline.After(due.Add(together))
}

// sooner orders deregistrations by their deadlines.
func sooner(a, b Deregistration) int { return a.Deadline.Compare(b.Deadline) }

// Changes is what a pass wants done to a group, and what it has found out about the targets there.
type Changes struct {
	Generation int64 // of the spec that they were made for, 0 when not all is known that they need

	Register   Registrations
	RegisterBy time.Time               // by when the first of Register should be in the group; zero is at once
	NodeZones  map[elbv2.Target]string // of Register, the Availability Zones that the nodes are in, as far as known
	Adopt      Registrations           // registered before our time, or for another pod there, and now this one's
	AdoptFrom  Registrations           // of Adopt, those that were registered for another pod, and which
	Deregister Deregistrations

	Nodes bool // the targets are nodes

	Shared      map[elbv2.Target]struct{}        // several pods live at the address
	Unexplained map[elbv2.Target]struct{}        // by no pod: they go if a later reading shows them still
	Unwanted    map[elbv2.Target]endpoints.State // why targets should go that are in the group: NotReady or Unselected
}
