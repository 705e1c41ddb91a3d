// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/testbed"
)

const (
	checkInterval = 5 // seconds between health checks
	// growthBindings is how many bindings the pods of a growth run are spread over, manyBindings where they are more than fewPods.
	growthBindings = 100
	manyBindings   = 500
	fewPods        = 5000
	// podsPerNode leaves room on the nodes of the test bed, which take 500.
	podsPerNode = 480
)

// scenario is one thing to run.
type scenario struct {
	Name  string
	Title string
	// Bindings have that many Replicas each.
	Bindings, Replicas int
	// PreStop is the sleep in the pod, in seconds.
	PreStop int64
	// Rate is in requests a second to each app, 0 is no load.
	Rate float64
	// Growth deploys the pods, and restarts targetgate. Admission has pods reviewed that are never created. Unrelated pods have no binding.
	// Otherwise pods are deployed and then replaced.
	Growth, Admission, Unrelated bool
	// Unprobed pods have no readiness probe: thousands of probes a second would take the machine.
	Unprobed bool
	// Ingresses measures what becomes of Ingresses. Changes is AWS's limit of calls that change something; there are no limits without it.
	Ingresses func(context.Context, *estate) error
	Changes   wire.Limit
	// OneNamespace holds all bindings; otherwise each has its own.
	OneNamespace bool
	// Usual scenarios run by default: together they have a rollout, a rush, a restart, times in which nothing happens, and an Ingress.
	Usual bool
}

// usualGrowth is the growth run that is usual, and growths are the pods of those that `-scenario all` runs, each in both shapes.
const usualGrowth = 1000

var growths = []int{100, usualGrowth, 5000}

// scenarios are all but growth runs, which have as many pods as their name says.
var scenarios = []scenario{
	{Name: "one", Title: "one Deployment is rolled", Bindings: 1, Replicas: 20, PreStop: 10, Usual: true},
	{Name: "bare", Title: "one Deployment is rolled under load, no preStop in the pod", Bindings: 1, Replicas: 8, Rate: 500},
	{Name: "load", Title: "30 Deployments are rolled at once under load, preStop 10 s", Bindings: 30, Replicas: 6, PreStop: 10, Rate: 100},
	{Name: "rush", Title: "50 Deployments are rolled at once", Bindings: 50, Replicas: 10, PreStop: 10, Usual: true},
	{Name: "one-binding", Title: "one binding with many pods: deployed, then rolled", Bindings: 1, Replicas: 2000, PreStop: 10,
		Unprobed: true},
	{Name: "unrelated", Title: "pods of no binding are created; then some change 50 times a second", Replicas: 20_000, Unrelated: true},
	{Name: "ingress", Title: "one Ingress with 3 paths, then one with HTTPS", Replicas: 2, Ingresses: oneIngress, Usual: true},
	{Name: "ingress-group", Title: "a group of 50 Ingresses with 2 paths each, created at once", Replicas: 2, Ingresses: groupAtOnce},
	{Name: "ingress-apart", Title: "a group of 50 Ingresses with 2 paths each, created 40 ms apart", Replicas: 2, Ingresses: groupApart},
	{Name: "ingress-broken", Title: "a group of 10 Ingresses, one of them broken", Replicas: 2, Ingresses: brokenMember},
	{Name: "ingress-hundred", Title: "100 Ingresses, each with a load balancer", Replicas: 2, Ingresses: hundred, Changes: measuredChanges},
	{Name: "ingress-groups", Title: "1,000 Ingresses in 100 groups, then 10 changes a minute", Replicas: 2, Ingresses: groups,
		Changes: publishedChanges},
	{Name: "ingress-turns", Title: "300 Ingresses in 30 groups of one namespace, and meanwhile one Ingress of another", Replicas: 2,
		Ingresses: inTurns, Changes: publishedChanges},
	{Name: "ingress-thousand", Title: "1,000 Ingresses, each with a load balancer, without AWS's limits", Replicas: 2, Ingresses: thousand},
	{Name: "admission", Title: "pods of 10 kB are reviewed, 16 at a time", Bindings: slices.Max(admissionSteps), Admission: true},
}

// growth is the scenario in which that many pods are deployed at once.
func growth(pods int) scenario {
	bindings := bindingsFor(pods)
	return scenario{
		Name: fmt.Sprintf("growth-%d", pods), Title: "all pods are deployed at once, a namespace each; then kill -9 and restart",
		Bindings: bindings, Replicas: pods / bindings, Growth: true, Unprobed: true, Usual: pods == usualGrowth,
	}
}

func bindingsFor(pods int) int {
	if pods > fewPods {
		return manyBindings
	}
	return min(growthBindings, pods)
}

// inOneNamespace is the same with all bindings and pods in one.
func (s scenario) inOneNamespace() scenario {
	s.Name, s.OneNamespace, s.Usual = s.Name+"-in-one", true, false
	s.Title = "all pods are deployed at once in one namespace; then kill -9 and restart"
	return s
}

// quick is the scenario made small, to try the bench itself: its figures say nothing.
func (s scenario) quick() scenario {
	s.Bindings, s.Replicas, s.Rate = min(s.Bindings, 3), min(s.Replicas, 4), min(s.Rate, 50)
	return s
}

func (s scenario) pods() int { return max(1, s.Bindings) * s.Replicas }

// nodes have room for all pods, and for more while they are replaced. Unrelated pods need none.
func (s scenario) nodes() int {
	pods := s.pods()
	switch {
	case s.Unrelated:
		pods = 0
	case !s.Growth:
		pods += pods / 2 // those that surge, and those that leave
	}
	return max(3, (pods+podsPerNode-1)/podsPerNode)
}

// size reads like "50 x 10 pods".
func size(bindings, replicas int) string {
	switch {
	case bindings == 0:
		return fmt.Sprintf("%d pods", replicas)
	case replicas == 0:
		return fmt.Sprintf("up to %d bindings", bindings)
	}
	return fmt.Sprintf("%d x %d pods", bindings, replicas)
}

func (s scenario) apps() []*testbed.App {
	apps := make([]*testbed.App, s.Bindings)
	for i := range apps {
		apps[i] = s.app(i)
	}
	return apps
}

func (s scenario) app(number int) *testbed.App {
	app := &testbed.App{
		Name: fmt.Sprintf("%s-%03d", s.Name, number), Replicas: int32(s.Replicas), Gated: true, PreStopSeconds: s.PreStop,
		HealthCheck: state.HealthCheck{Interval: checkInterval, Path: "/healthz"},
	}
	if s.Unprobed {
		app.Template = withoutProbe
	}
	if s.OneNamespace {
		app.Namespace = s.Name
	}
	return app
}

// stopsSending is how long after a deregistration the load balancers go on sending.
const stopsSending = 4 * time.Second

// timings are those of the load balancers when the incumbent was measured.
func timings() *state.Timings {
	t := state.DefaultTimings()
	t.ALB = state.Timing{
		Register:   region.Range{Min: time.Second, Max: 3 * time.Second},
		FirstCheck: checkInterval * time.Second, FirstPasses: 1,
		Stop: region.Range{Min: stopsSending, Max: stopsSending},
	}
	return &t
}

// all are the scenarios that `-scenario all` runs, in this order.
func all() []scenario {
	list := slices.Clone(scenarios)
	for _, pods := range growths {
		list = append(list, growth(pods), growth(pods).inOneNamespace())
	}
	return list
}

// usual are the scenarios that run by default.
func usual() []scenario {
	return slices.DeleteFunc(all(), func(s scenario) bool { return !s.Usual })
}

// choose finds scenarios by name, with commas between the names, in the order in which they are asked for. Without a name it takes the
// usual ones, by the name "all" all. Growth runs of any size have a name, too.
func choose(names string) ([]scenario, error) {
	var chosen []scenario
	for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' }) {
		found, err := named(name)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, found...)
	}
	if len(chosen) == 0 {
		return usual(), nil
	}
	return chosen, nil
}

func named(name string) ([]scenario, error) {
	if name == "all" {
		return all(), nil
	}
	if size, found := strings.CutPrefix(name, "growth-"); found {
		size, inOne := strings.CutSuffix(size, "-in-one")
		pods, err := strconv.Atoi(size)
		if err != nil || pods < 1 || pods%bindingsFor(pods) != 0 {
			return nil, fmt.Errorf("a growth run has 1 to %d pods, a multiple of that, or more than %d and a multiple of %d, not %q",
				growthBindings, fewPods, manyBindings, size)
		}
		s := growth(pods)
		if inOne {
			s = s.inOneNamespace()
		}
		return []scenario{s}, nil
	}
	if i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.Name == name }); i >= 0 {
		return scenarios[i : i+1], nil
	}
	return nil, fmt.Errorf("there is no scenario %q: -list prints their names", name)
}

// listed is what -list prints.
func listed() string {
	var out strings.Builder
	for _, s := range all() {
		mark := " "
		if s.Usual {
			mark = "*"
		}
		fmt.Fprintf(&out, "%s %-21s %s, %s\n", mark, s.Name, s.Title, size(s.Bindings, s.Replicas))
	}
	out.WriteString("\nThose with * run by default, -scenario all runs all. Growth runs take any number of pods: growth-20-in-one.\n")
	return out.String()
}
