// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package departures

import (
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// Departure is the moment at which a target that served was deregistered.
type Departure struct {
	Target state.Key
	At     time.Time
	Others int // how many other targets of the group served then
}

// From are the departures from the target group, oldest first. A target serves from the first time that it is healthy until it is
// deregistered: a health check that a busy machine is too slow for is nothing that targetgate did.
func From(events []state.Event, group string) []Departure {
	var out []Departure
	serves := map[state.Key]bool{}
	for _, event := range events {
		if event.Group != group || event.Kind != state.Changed {
			continue
		}
		key := event.Target.Key
		switch event.To.State {
		case state.Healthy:
			serves[key] = true
		case state.Draining, state.Unused:
			if serves[key] {
				delete(serves, key)
				out = append(out, Departure{Target: key, At: event.Time, Others: len(serves)})
			}
		}
	}
	return out
}
