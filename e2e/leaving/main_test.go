// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package leaving

import (
	"fmt"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// bed is what all tests of the package run on.
var bed = &suite.Bed{}

// stops is how long the load balancers of each type go on sending after a deregistration, at the longest; sleep is that of the pods, in
// seconds: it leaves the pods of an Application Load Balancer some 20 s to be replaced.
var stops = map[string]time.Duration{state.Application: 3 * time.Second, state.Network: 8 * time.Second}

const sleep = 24

func TestMain(m *testing.M) {
	bed.Main(m, testbed.Options{
		Timings: timings(),
		Args: []string{
			fmt.Sprintf("--deregistration-lead-alb=%s", stops[state.Application]), fmt.Sprintf("--deregistration-lead-nlb=%s", stops[state.Network]),
		},
	})
}

func timings() *state.Timings {
	t := state.DefaultTimings()
	quick := func(balancer string) state.Timing {
		return state.Timing{
			Register:   region.Range{Min: 200 * time.Millisecond, Max: time.Second},
			FirstCheck: 5 * time.Second, FirstPasses: 1,
			Stop: region.Range{Min: stops[balancer] / 2, Max: stops[balancer]},
		}
	}
	t.ALB, t.NLB = quick(state.Application), quick(state.Network)
	return &t
}

// newApp has two pods behind a load balancer of that type, and replaces a pod only when it is deleted.
func newApp(name, balancer string) *testbed.App {
	app := suite.NewApp(name)
	app.Replicas, app.PreStopSeconds = 2, sleep
	app.HealthCheck = state.HealthCheck{Interval: 5, Path: "/healthz"}
	app.Balancer = func(s *emulator.Service) { s.Type = balancer }
	return app
}
