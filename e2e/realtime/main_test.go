// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package realtime

import (
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// bed is what all tests of the package run on.
var bed = &suite.Bed{}

func TestMain(m *testing.M) {
	timings := state.DefaultTimings()
	timings.ALB = state.Timing{
		Register:   region.Range{Min: time.Second, Max: 3 * time.Second},
		FirstCheck: 5 * time.Second, FirstPasses: 1,
		Stop: region.Range{Min: 4 * time.Second, Max: 4 * time.Second},
	}
	bed.Main(m, testbed.Options{Timings: &timings})
}
