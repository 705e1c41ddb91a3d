// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

func TestRoute(t *testing.T) {
	const one, two = "10.0.0.1", "10.0.0.2"
	fails := func(id string) func(Probe) Result {
		return func(p Probe) Result {
			if p.Target.ID == id {
				return Result{Failed: true}
			}
			return passing(p)
		}
	}
	cases := map[string]struct {
		act  func(*bed)
		want []string
	}{
		"nothing before the load balancer knows": {
			act: func(b *bed) { b.register(one) }, want: []string{},
		},
		"initial ones when none is healthy": {
			act:  func(b *bed) { b.answer = failing; b.register(one, two); b.pass(3 * time.Second) },
			want: []string{one, two},
		},
		"initial ones wait when one is healthy": {
			act: func(b *bed) {
				b.register(one)
				b.pass(time.Minute)
				b.answer = fails(two)
				b.register(two)
				b.pass(3 * time.Second)
			},
			want: []string{one},
		},
		"unhealthy ones are left out": {
			act:  func(b *bed) { b.answer = fails(two); b.register(one, two); b.pass(5 * time.Minute) },
			want: []string{one},
		},
		"all when all are unhealthy": {
			act:  func(b *bed) { b.answer = failing; b.register(one, two); b.pass(5 * time.Minute) },
			want: []string{one, two},
		},
		"a deregistered one goes on for a while": {
			act:  func(b *bed) { b.register(one, two); b.pass(time.Minute); b.deregister(two); b.pass(11 * time.Second) },
			want: []string{one, two},
		},
		"and keeps the group from failing open": {
			act: func(b *bed) {
				b.register(one)
				b.pass(time.Minute)
				b.answer = fails(two)
				b.deregister(one)
				b.register(two)
				b.pass(11 * time.Second)
			},
			want: []string{one},
		},
		"until its time is over": {
			act:  func(b *bed) { b.register(one, two); b.pass(time.Minute); b.deregister(two); b.pass(20 * time.Second) },
			want: []string{one},
		},
		"deregistered before it was known": {
			act:  func(b *bed) { b.register(one); b.deregister(one); b.pass(time.Minute) },
			want: []string{},
		},
		"none after the group is detached": {
			act:  func(b *bed) { b.register(one); b.pass(time.Minute); b.detach() },
			want: []string{},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, Options{}, Application)
			tc.act(b)
			if diff := cmp.Diff(tc.want, b.routes()); diff != "" {
				t.Errorf("routes (-want +got):\n%s", diff)
			}
		})
	}
}

func (b *bed) detach() {
	b.t.Helper()
	listeners, err := b.Listeners(b.lb)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, l := range listeners {
		if err := b.DeleteListener(l.ARN); err != nil {
			b.t.Fatal(err)
		}
	}
}

func TestRouteOutlivesAShortDeregistrationDelay(t *testing.T) {
	b := newBed(t, Options{}, Application)
	if _, err := b.ModifyAttributes(b.group, map[string]string{attrDelay: "0"}); err != nil {
		t.Fatal(err)
	}
	b.register("10.0.0.1")
	b.pass(time.Minute)
	b.deregister("10.0.0.1")
	b.wantHealth("10.0.0.1", unregistered)
	if lines, _ := b.Describe(b.group, nil); len(lines) != 0 {
		t.Errorf("still listed: %v", lines)
	}
	b.pass(11 * time.Second)
	if len(b.routes()) != 1 {
		t.Errorf("requests stopped with the deregistration delay")
	}
	b.pass(9 * time.Second)
	if len(b.routes()) != 0 {
		t.Errorf("requests go on past 20 s")
	}
}

func TestRegisterWhileDraining(t *testing.T) {
	t.Run("accepted", func(t *testing.T) {
		b := newBed(t, Options{}, Application)
		b.register("10.0.0.1")
		b.pass(time.Minute)
		b.deregister("10.0.0.1")
		b.register("10.0.0.1")
		b.wantHealth("10.0.0.1", registering)
		b.pass(6 * time.Minute)
		b.wantHealth("10.0.0.1", healthy)
	})
	t.Run("rejected", func(t *testing.T) {
		b := newBed(t, Options{RejectWhileDraining: true}, Application)
		b.register("10.0.0.1")
		b.pass(time.Minute)
		b.deregister("10.0.0.1")
		if err := b.Register(b.group, []Target{ip("10.0.0.1")}); !refusal.Is(err, "InvalidTarget") {
			t.Errorf("registering while draining: %v", err)
		}
		b.pass(5 * time.Minute)
		b.register("10.0.0.1")
	})
}

// TestCut says when what is in flight ends with the change of state.
func TestCut(t *testing.T) {
	cases := map[string]struct {
		kind       string
		attributes map[string]string
		leave      bool
		to         Health
		want       bool
	}{
		"ALB, past the delay": {kind: Application, leave: true, to: unregistered, want: true},
		"NLB, past the delay": {kind: Network, leave: true, to: unregistered},
		"NLB, past the delay, told to": {
			kind: Network, attributes: map[string]string{attrCutLeaving: "true"}, leave: true, to: unregistered, want: true,
		},
		"ALB, unhealthy":              {kind: Application, to: failedChecks},
		"NLB, unhealthy":              {kind: Network, to: failedChecks, want: true},
		"NLB, unhealthy, told not to": {kind: Network, attributes: map[string]string{attrCutUnhealthy: "false"}, to: failedChecks},
		"NLB, unhealthy, with grace period": {
			kind: Network, attributes: map[string]string{attrCutUnhealthy: "false", attrUnhealthyDrain: "5"}, to: failedChecks,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, Options{}, tc.kind)
			if _, err := b.ModifyAttributes(b.group, tc.attributes); err != nil {
				t.Fatal(err)
			}
			b.register("10.0.0.1")
			b.pass(10 * time.Minute)
			b.answer = failing
			if tc.leave {
				b.deregister("10.0.0.1")
			}
			b.pass(10 * time.Minute)
			b.when(func(e Event) bool { return turns(tc.to)(e) && e.Cut == tc.want })
		})
	}
}

func TestUnhealthyDrainingSettles(t *testing.T) {
	b := newBed(t, Options{}, Network)
	unhealthyDraining(b)
	if got := b.routes(); len(got) != 1 {
		t.Errorf("routes are %v, want fail-open", got)
	}
	b.pass(11 * time.Minute)
	b.wantHealth("10.0.0.1", failedChecks)
}

func TestDetachedTargetLeavesAtOnce(t *testing.T) {
	b := newBed(t, Options{}, Application)
	b.register("10.0.0.1")
	b.pass(time.Minute)
	b.detach()
	b.wantHealth("10.0.0.1", unattached)
	b.deregister("10.0.0.1")
	b.wantHealth("10.0.0.1", unregistered)
	b.register("10.0.0.1")
	b.attach(b.group, 90)
	b.wantHealth("10.0.0.1", registering)
	b.pass(time.Minute)
	b.wantHealth("10.0.0.1", healthy)
}

func TestTargetIsUsedWhereItsZoneIsEnabled(t *testing.T) {
	b := newBed(t, Options{}, Application)
	b.register("10.0.0.1", "10.128.0.1") // zones a and c
	b.pass(time.Minute)
	b.wantHealth("10.128.0.1", otherZone)
	if err := b.SetSubnets(b.lb, []string{bothZones[1], "subnet-0c000000000000003"}); err != nil {
		t.Fatal(err)
	}
	b.wantHealth("10.0.0.1", otherZone)
	b.wantHealth("10.128.0.1", registering)
	b.pass(time.Minute)
	b.wantHealth("10.128.0.1", healthy)
	if err := b.SetSubnets(b.lb, bothZones[:1]); err == nil {
		t.Error("an ALB with one zone is no error")
	}
}
