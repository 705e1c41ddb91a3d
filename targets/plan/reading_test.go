// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"
	"time"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

func TestDueAt(t *testing.T) {
	alb := &v1beta1.TargetGroupSettings{Protocol: "HTTP", HealthCheck: v1beta1.HealthCheckSettings{IntervalSeconds: 10, HealthyThreshold: 5}}
	nlb := &v1beta1.TargetGroupSettings{Protocol: "TCP"}
	initial, unhealthy := elbv2.Health{State: elbv2.StateInitial}, elbv2.Health{State: elbv2.StateUnhealthy}
	after := func(d time.Duration) time.Time { return noon.Add(d) }
	tests := map[string]struct {
		settings *v1beta1.TargetGroupSettings
		target   targetgroup.Target
		want     time.Duration // after noon
	}{
		"registered with an ALB just now":  {alb, targetgroup.Target{Health: initial, Since: noon, OwnedAt: noon}, time.Second},
		"and looked at":                    {alb, targetgroup.Target{Health: initial, Since: noon, OwnedAt: noon, ReadAt: after(time.Second)}, 2 * time.Second},
		"settings not known":               {nil, targetgroup.Target{Health: initial, Since: noon, OwnedAt: noon}, time.Second},
		"registered with an NLB just now":  {nlb, targetgroup.Target{Health: initial, Since: noon, OwnedAt: noon}, 5 * time.Second},
		"long before its first check":      {nlb, targetgroup.Target{Health: initial, Since: noon, OwnedAt: noon, ReadAt: after(30 * time.Second)}, 35 * time.Second},
		"just before its first check":      {nlb, targetgroup.Target{Health: initial, Since: noon, OwnedAt: noon, ReadAt: after(58 * time.Second)}, 60 * time.Second},
		"first check due":                  {nlb, targetgroup.Target{Health: initial, Since: noon, OwnedAt: noon, ReadAt: after(60 * time.Second)}, 61 * time.Second},
		"unhealthy since now":              {alb, targetgroup.Target{Health: unhealthy, Since: noon, ReadAt: noon}, 5 * time.Second},
		"unhealthy for its threshold":      {alb, targetgroup.Target{Health: unhealthy, Since: noon, ReadAt: after(40 * time.Second)}, 41 * time.Second},
		"unhealthy for minutes":            {alb, targetgroup.Target{Health: unhealthy, Since: noon, ReadAt: after(340 * time.Second)}, 345 * time.Second},
		"unhealthy for hours":              {alb, targetgroup.Target{Health: unhealthy, Since: noon, ReadAt: after(9 * time.Hour)}, 9*time.Hour + 10*time.Second},
		"registered by an earlier process": {alb, targetgroup.Target{Health: initial, Since: noon, ReadAt: noon}, time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := dueAt(tc.target, tc.settings, pollWaiting).Sub(noon); got != tc.want {
				t.Errorf("due %s after noon, want %s", got, tc.want)
			}
		})
	}
}

// Nobody waits while unready targets stay for want of healthy ones; when these are back must be found out all the same.
func TestNextReadingIsSoonWhileUnreadyTargetsStay(t *testing.T) {
	group := targetgroup.Snapshot{ReadAt: noon, Targets: targetgroup.Targets{
		{ID: "10.0.0.1", Port: 80}: {
			Presence: targetgroup.Registered, Health: elbv2.Health{State: elbv2.StateUnhealthy}, Since: noon.Add(-time.Hour), ReadAt: noon,
		},
	}}
	for kept, want := range map[bool][2]time.Duration{
		false: {4 * time.Minute, 5 * time.Minute}, true: {15 * time.Second, 15 * time.Second},
	} {
		next := NextReading(ReadingInput{Group: group, UnreadyKept: kept, DriftInterval: 5 * time.Minute})
		if got := next.At.Sub(noon); got < want[0] || got > want[1] {
			t.Errorf("unready ones kept %t: next reading after %s, want %s to %s", kept, got, want[0], want[1])
		}
	}
}

// A call that failed may have had its effect, which the next reading shows.
func TestNextReadingIsSoonAfterAFailedCall(t *testing.T) {
	group := targetgroup.Snapshot{ReadAt: noon, Targets: targetgroup.Targets{one: {FailedAt: noon}}}
	next := NextReading(ReadingInput{Group: group, DriftInterval: 5 * time.Minute})
	if got := next.At.Sub(noon); got != PollUnsettled {
		t.Errorf("next reading after %s, want %s", got, PollUnsettled)
	}
}

// Which targets serve may be different by the time at which they become unwanted.
func TestNextReadingIsSoonAfterATargetBecameUnwanted(t *testing.T) {
	for name, tc := range map[string]struct {
		since time.Time
		want  [2]time.Duration
	}{
		"before the last reading": {since: noon, want: [2]time.Duration{4 * time.Minute, 5 * time.Minute}},
		"after it":                {since: noon.Add(time.Second), want: [2]time.Duration{PollUnsettled, PollUnsettled}},
	} {
		t.Run(name, func(t *testing.T) {
			target := targetgroup.Target{Presence: targetgroup.Registered, Health: healthy, ReadAt: noon, Unwanted: endpoints.Unselected, UnwantedSince: tc.since}
			group := targetgroup.Snapshot{ReadAt: noon, Targets: targetgroup.Targets{one: target}}
			next := NextReading(ReadingInput{Group: group, DriftInterval: 5 * time.Minute})
			if got := next.At.Sub(noon); got < tc.want[0] || got > tc.want[1] {
				t.Errorf("next reading after %s, want %s to %s", got, tc.want[0], tc.want[1])
			}
		})
	}
}

// No pod waits for a target that turns unhealthy for a while. The status is not to say so for minutes after it is healthy again; nor are
// groups read all the time that have an unhealthy one for ever, as with nodes that have no pod.
func TestNextReadingFollowsTheUnhealthy(t *testing.T) {
	const drift = 5 * time.Minute
	unhealthy := targetgroup.Target{Presence: targetgroup.Registered, Health: elbv2.Health{State: elbv2.StateUnhealthy}, Since: noon}
	draining, healthy := unhealthy, unhealthy
	draining.Presence, healthy.Health.State = targetgroup.Draining, elbv2.StateHealthy
	tests := map[string]struct {
		target  targetgroup.Target
		awaited bool
		age     time.Duration // of the state, when it was read last
		want    time.Duration // 0 for DriftInterval
	}{
		"just now":      {target: unhealthy, want: 15 * time.Second},
		"for a while":   {target: unhealthy, age: 15 * time.Second, want: 15 * time.Second},
		"for a minute":  {target: unhealthy, age: time.Minute, want: time.Minute},
		"for ever":      {target: unhealthy, age: time.Hour},
		"a pod waits":   {target: unhealthy, awaited: true},
		"it leaves":     {target: draining},
		"it is healthy": {target: healthy},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.target.ReadAt = noon.Add(tc.age)
			in := ReadingInput{DriftInterval: drift, Group: targetgroup.Snapshot{
				ReadAt: tc.target.ReadAt, Targets: targetgroup.Targets{one: tc.target},
			}}
			if tc.awaited {
				in.Awaited = in.Group.Targets
			}
			pause := in.wholePause()
			if tc.want == 0 && pause < drift*4/5 || tc.want != 0 && pause != tc.want {
				t.Errorf("the pause is %s, want %s", pause, tc.want)
			}
		})
	}
}
