// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package departures

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

var begin = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return begin.Add(time.Duration(seconds * float64(time.Second))) }

func TestFromCountsTargetsThatServe(t *testing.T) {
	key := func(id string) state.Key { return state.Key{ID: id, Port: 8080} }
	turns := func(seconds float64, group, id string, to state.HealthState) state.Event {
		return state.Event{
			Time: at(seconds), Kind: state.Changed, Group: group, Target: state.Target{Key: key(id)}, To: state.Health{State: to},
		}
	}
	events := []state.Event{
		turns(0, "web", "a", state.Initial), turns(1, "web", "a", state.Healthy),
		turns(1, "web", "b", state.Healthy), turns(2, "other", "c", state.Healthy),
		turns(3, "web", "d", state.Initial),
		turns(4, "web", "b", state.Unhealthy), // serves on
		{Time: at(4), Kind: state.RoutingStopped, Group: "web", Target: state.Target{Key: key("a")}},
		turns(5, "web", "a", state.Draining), turns(6, "web", "a", state.Unused), // leaves once
		turns(7, "web", "d", state.Draining), // has never served
		turns(8, "other", "c", state.Draining),
		turns(9, "web", "a", state.Healthy), // has come again
		turns(10, "web", "b", state.Unused),
	}
	want := []Departure{{Target: key("a"), At: at(5), Others: 1}, {Target: key("b"), At: at(10), Others: 1}}
	if diff := cmp.Diff(want, From(events, "web")); diff != "" {
		t.Errorf("departures (-want +got):\n%s", diff)
	}
}
