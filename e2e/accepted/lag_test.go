// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package accepted

import (
	"errors"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/account"
	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/ingress"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
	emulated "github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// laggard is an account whose answers lag behind what was done, by a clock that goes on between passes.
type laggard struct {
	*cloud
	clock *testclock.FakeClock
}

func newLaggard(t *testing.T) *laggard {
	t.Helper()
	clock := testclock.NewFakeClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	delays := state.Delays{
		Provisioning: region.Range{Min: 20 * time.Second, Max: 20 * time.Second},
		Shown:        region.Range{Min: 3 * time.Second, Max: 30 * time.Second},
		Release:      region.Range{Min: 2 * time.Second, Max: 2 * time.Second},
	}
	return &laggard{newCloudAt(t, clock, emulated.Options{
		EC2: ec2.Options{Lag: &region.Range{Min: 2 * time.Second, Max: 2 * time.Second}}, ELB: state.Options{Delays: &delays},
	}), clock}
}

// plan is what is planned for the group by what the view knows.
func (l *laggard) plan(t *testing.T, view *account.View, in input.Input) (id stack.ID, planned steps.Plan) {
	t.Helper()
	id = stack.ID{Cluster: cluster, Kind: stack.Ingresses, Name: in.Group.String()}
	in.Seen = l.look(t, view, id, in.Group)
	wanted := stack.Stack{ID: id}
	if len(in.Members) > 0 {
		wanted, _ = ingress.Build(in)
	}
	read, err := view.Complete(t.Context(), wanted)
	if err != nil {
		t.Fatal(err)
	}
	if read {
		in.Seen = l.look(t, view, id, in.Group)
	}
	planned, _ = plan.Make(wanted, in.Seen, l.options)
	return id, planned
}

func (l *laggard) look(t *testing.T, view *account.View, id stack.ID, group stack.Group) stack.Stack {
	t.Helper()
	seen, err := view.Stack(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var bindings v1beta1.TargetGroupBindingList
	if err := l.applier.Bindings.List(t.Context(), &bindings, client.MatchingLabels(membership.LabelsOf(group))); err != nil {
		t.Fatal(err)
	}
	for i := range bindings.Items {
		seen.Bindings = append(seen.Bindings, apply.Binding(&bindings.Items[i]))
	}
	return seen
}

// run is a pass, which must not fail. It returns when the next one is due.
func (l *laggard) run(t *testing.T, id stack.ID, planned steps.Plan) time.Duration {
	t.Helper()
	result := l.applier.Run(t.Context(), apply.Pass{ID: id, Plan: planned, Unsettled: func(string) time.Duration { return 0 }})
	for _, failure := range result.Failures {
		t.Errorf("%s fails: %v", failure.Step, failure.Err)
	}
	if _, err := l.view.Stack(t.Context(), id); err != nil {
		t.Error(err)
	}
	if result.Again == 0 && len(result.Later) > 0 {
		return 10 * time.Second
	}
	return max(result.Again, time.Millisecond)
}

// pass is one over the group. It returns when the next one is due, 0 if this one had nothing to do.
func (l *laggard) pass(t *testing.T, in input.Input) time.Duration {
	t.Helper()
	id, planned := l.plan(t, l.view, in)
	if len(planned) == 0 {
		return 0
	}
	return l.run(t, id, planned)
}

// settle makes passes over the group until one has nothing to do. A new process would have nothing to do then, either.
func (l *laggard) settle(t *testing.T, in input.Input) {
	t.Helper()
	for range 200 {
		pause := l.pass(t, in)
		if pause > 0 {
			l.clock.Step(pause)
			continue
		}
		l.clock.Step(time.Minute)
		if _, planned := l.plan(t, l.reader(), in); len(planned) > 0 {
			t.Errorf("a new process would do %v", planned)
		}
		return
	}
	t.Fatal("there is always something left to do")
}

// There is nothing twice, nothing is left, and no pass fails, whatever AWS does not show yet.
func TestAnswersThatLagBehindFailNoPass(t *testing.T) {
	l := newLaggard(t)
	one, both := inputOf(l.cloud, []*member{newMember("a")}), inputOf(l.cloud, []*member{newMember("a"), newMember("b")})
	none := one
	none.Members = nil
	forget := func() { l.view.Forget(stack.ID{Cluster: cluster, Kind: stack.Ingresses, Name: one.Group.String()}) }
	l.settle(t, both)

	l.pass(t, one)
	forget()
	l.pass(t, both) // what the member had is taken out and put in again
	forget()
	l.pass(t, one)
	l.settle(t, both)

	l.settle(t, none)
	l.settle(t, both)
	if balancers, err := l.aws.ELB.Balancers("", nil, nil); err != nil || len(balancers) != 1 {
		t.Errorf("load balancers %+v, %v, want one", balancers, err)
	}
	l.settle(t, none)
	balancers, balancersErr := l.aws.ELB.Balancers("", nil, nil)
	groups, groupsErr := l.aws.ELB.Groups(state.GroupFilter{})
	if err := errors.Join(balancersErr, groupsErr); err != nil || len(balancers)+len(groups) > 0 {
		t.Errorf("%v, %v and %v are left", balancers, groups, err)
	}
}

// The first passes over two groups both find that the security group which all load balancers have is missing.
func TestTwoGroupsMakeTheSharedSecurityGroupAtOnce(t *testing.T) {
	l := newLaggard(t)
	first, second := inputOf(l.cloud, []*member{newMember("a")}), inputOf(l.cloud, []*member{newMember("b")})
	second.Group.Name = "other"
	_, planned := l.plan(t, l.view, second)
	l.pass(t, first)
	l.run(t, stack.ID{Cluster: cluster, Kind: stack.Ingresses, Name: second.Group.String()}, planned)
	l.settle(t, first)
	l.settle(t, second)
}
