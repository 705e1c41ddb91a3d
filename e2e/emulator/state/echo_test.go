// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/e2e/emulator/region"
)

// lagging is a bed whose DescribeTargetHealth is two seconds behind.
func lagging(t *testing.T) *bed {
	timings := DefaultTimings()
	timings.ALB.Visible = region.Range{Min: 2 * time.Second, Max: 2 * time.Second}
	return newBed(t, Options{Timings: &timings}, Application)
}

// list is what DescribeTargetHealth shows, without a filter.
func (b *bed) list() map[string]HealthState {
	b.t.Helper()
	lines, err := b.Describe(b.group, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	states := map[string]HealthState{}
	for _, line := range lines {
		states[line.ID] = line.State
	}
	return states
}

func (b *bed) wantList(want map[string]HealthState) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.list()); diff != "" {
		b.t.Errorf("targets after %v (-want +got):\n%s", b.clock.Since(epoch), diff)
	}
}

func TestDescribeLagsBehind(t *testing.T) {
	const first, second = "10.0.0.1", "10.0.0.2"
	b := lagging(t)
	b.register(first)
	b.wantList(map[string]HealthState{})
	b.wantHealth(first, unregistered)
	b.pass(2*time.Second - 1)
	b.wantList(map[string]HealthState{})
	b.pass(1)
	b.wantList(map[string]HealthState{first: Initial})
	b.pass(time.Minute)

	b.register(second)
	b.deregister(first)
	b.wantList(map[string]HealthState{first: Healthy})
	b.wantHealth(first, healthy)
	b.pass(2 * time.Second)
	b.wantList(map[string]HealthState{first: Draining, second: Initial})
	b.pass(298*time.Second - 1)
	b.wantList(map[string]HealthState{first: Draining, second: Healthy})
	b.pass(1)
	b.wantList(map[string]HealthState{second: Healthy})
}

func TestDescribeShowsWhatHasGone(t *testing.T) {
	b := lagging(t)
	if _, err := b.ModifyAttributes(b.group, map[string]string{attrDelay: "0"}); err != nil {
		t.Fatal(err)
	}
	b.register("10.0.0.1", "10.0.0.2")
	b.pass(time.Minute)
	b.deregister("10.0.0.1")
	b.pass(time.Second)
	b.wantList(map[string]HealthState{"10.0.0.1": Healthy, "10.0.0.2": Healthy})
	b.pass(time.Second)
	b.wantList(map[string]HealthState{"10.0.0.2": Healthy})
}

func TestDescribeKeepsTheOldestPicture(t *testing.T) {
	b := lagging(t)
	b.register("10.0.0.1")
	b.pass(time.Second)
	b.deregister("10.0.0.1")
	b.pass(2*time.Second - 1)
	b.wantList(map[string]HealthState{})
	b.pass(1)
	b.wantList(map[string]HealthState{"10.0.0.1": Draining})
}

func TestDescribeLagsBehindForOneGroup(t *testing.T) {
	b := newBed(t, Options{}, Application)
	if err := b.SetVisible(b.group, region.Range{Min: 2 * time.Second, Max: 2 * time.Second}); err != nil {
		t.Fatal(err)
	}
	b.register("10.0.0.1")
	b.pass(2*time.Second - 1)
	b.wantList(map[string]HealthState{})
	b.pass(1)
	b.wantList(map[string]HealthState{"10.0.0.1": Initial})
}
