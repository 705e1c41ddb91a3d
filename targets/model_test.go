// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var (
	modelRuns    = flag.Uint64("histories", modelDefault, "how many random histories TestModel runs, or 30 under the race detector")
	modelSeed    = flag.Uint64("seed", 1, "the seed of TestModel's first history")
	modelWithout = flag.String("without", "", "what TestModel leaves out, separated by commas")
	modelVerbose = flag.Bool("keep-going", false, "TestModel goes on after a history that fails, and shrinks none")
)

// without reports whether histories leave that out: byHand (slices written by hand), portless (target ports that no pod has),
// noAttributes and foreign (target groups), twins (two live pods at one address), lostNodes, rebirth (bindings created again while
// their cache is late), sleepers (pods that serve on while they leave).
func without(what string) bool { return slices.Contains(strings.Split(*modelWithout, ","), what) }

// TestModel runs the registrar, wired as in the program, through random histories of a cluster, its load balancers and their
// faults, and holds it against an oracle that is written from the rules and shares no code with it.
//
//	model_test.go                       runs histories and lets them come to rest; model_shrink_test.go makes failing ones short
//	model_steps_test.go, _faults_       what may happen; _departures_ how pods leave
//	model_world_, _cluster_             the model of a cluster: kubelets, controllers, time; _store_, _client_, _cache_: its API server
//	model_aws_, _elbv2_                 the model of ELBv2
//	model_claims_, _watch_, _check_     the oracle: what has to be, what must never be on the way, what has to be in time and at the end;
//	                                    _leaving_ what pods that leave may wait for, and until when
//
// Everything is in a synctest bubble, so hours take seconds. A history that fails is printed as short as it gets; put it into
// modelHistories to keep it. The same seed makes the same steps, but goroutines, maps and jitter are never twice the same. That is
// also why this is no property of a library like rapid, which takes a failure that does not repeat for a fault of the test.
//
//	go test ./targets -run TestModel -histories 5000 -seed 17     more, and others
//	go test ./targets -run TestModel -keep-going                   all that fails
func TestModel(t *testing.T) {
	t.Parallel()
	before := debug.SetGCPercent(400)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	const shards = 2
	for shard := range uint64(shards) {
		t.Run(fmt.Sprintf("shard %d", shard), func(t *testing.T) {
			t.Parallel()
			for i := shard; i < *modelRuns; i += shards {
				runSeed(t, *modelSeed+i)
			}
		})
	}
}

func runSeed(t *testing.T, seed uint64) {
	t.Helper()
	history := randomHistory(rand.New(rand.NewPCG(seed, 0)))
	wrong := runHistory(t, history)
	switch {
	case wrong == "":
	case *modelVerbose:
		t.Errorf("seed %d: %s", seed, wrong)
	default:
		least, wrong := shrink(t, history, wrong)
		t.Fatalf("seed %d: %s\nsmallest history:\n%s", seed, wrong, written(least))
	}
}

func written(steps []step) string {
	var out strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&out, "\t%s\n", s)
	}
	return out.String()
}

// TestModelHistories runs histories that have failed once.
func TestModelHistories(t *testing.T) {
	for name, history := range modelHistories {
		t.Run(name, func(t *testing.T) {
			if wrong := runHistory(t, history); wrong != "" {
				t.Error(wrong)
			}
		})
	}
}

// runHistory says what went wrong, empty when nothing did.
func runHistory(t *testing.T, steps []step) (wrong string) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		m := newModel(ctx)
		for _, s := range steps {
			modelOps[s.op].do(m, s)
			m.advance(s.wait, time.Second)
			if m.violation() != "" {
				break
			}
		}
		wrong = m.rest()
		m.stop()
		m.stopped()
		time.Sleep(time.Minute) // calls that were under way end
	})
	return wrong
}

// How long a history may take to come to rest, and how long it then has to stay there.
const (
	modelRest  = 20 * time.Minute
	modelStays = 2 * time.Minute
	// modelCalls is how many calls a minute a group may cost at rest whatever fails: three lanes, each twice a minute and a bit.
	modelCalls = 10
)

// rest lets time pass without faults until everything is as it has to be.
func (m *model) rest() string {
	m.heal()
	var wrongs []string
	for end := time.Now().Add(modelRest); time.Now().Before(end); {
		m.advance(10*time.Second, 2*time.Second)
		if broken := m.violation(); broken != "" {
			return broken
		}
		if wrongs = m.wrongs(); len(wrongs) == 0 {
			return m.stay()
		}
	}
	slices.Sort(wrongs)
	return fmt.Sprintf("not at rest after %s: %s", modelRest, strings.Join(wrongs, "; "))
}

// stay holds what it comes to: nothing changes any more, and few calls are made.
func (m *model) stay() string {
	m.advance(time.Minute, 2*time.Second)
	since := time.Now()
	m.advance(modelStays, 2*time.Second)
	if broken := m.violation(); broken != "" {
		return broken
	}
	if wrongs := m.wrongs(); len(wrongs) > 0 {
		return "left its rest: " + strings.Join(wrongs, "; ")
	}
	m.aws.mu.Lock()
	defer m.aws.mu.Unlock()
	for arn, g := range m.aws.groups {
		if !g.gone && !g.foreign && !g.denied {
			continue // pods at their gates may be waited for
		}
		calls := map[string]int{}
		for _, call := range g.calls {
			if call.at.After(since) {
				calls[call.operation]++
			}
		}
		for operation, n := range calls {
			if n > modelCalls*int(modelStays/time.Minute) {
				return fmt.Sprintf("%d calls of %s for %s in %s at rest", n, operation, arn, modelStays)
			}
		}
	}
	return ""
}
