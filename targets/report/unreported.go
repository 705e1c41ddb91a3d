// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/targetgate/targetgate/aws/elbv2"
)

// unreportedPause is between two events about targets of one binding that others deregister, that AWS leaves out of its answers now and
// then, or that go too late.
const unreportedPause = 5 * time.Minute

// Unreported are targets of a binding that no event has named yet. The zero value has none. Passes of a binding come one after the
// other, so it needs no lock.
type Unreported struct {
	targets   sets.Set[string]
	emittedAt time.Time
}

// due adds to them, and names all of them once unreportedPause has passed since it last did; empty before that.
func (u *Unreported) due(more []elbv2.Target, now time.Time) string {
	for _, target := range more {
		if u.targets == nil {
			u.targets = sets.Set[string]{}
		}
		u.targets.Insert(target.String())
	}
	if len(u.targets) == 0 || now.Sub(u.emittedAt) < unreportedPause {
		return ""
	}
	names := strings.Join(sets.List(u.targets), ", ")
	*u = Unreported{emittedAt: now}
	return names
}
