// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targetgroup

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/aws/elbv2"
)

func TestInstancesLeft(t *testing.T) {
	node := elbv2.Target{ID: "i-01", Port: 30080}
	there := map[string]bool{"i-01": true}
	with := func(target Target) func(*Group) {
		return func(g *Group) {
			g.seen.readAt = noon
			g.seen.targets[node] = &target
		}
	}
	tests := map[string]struct {
		prepare   func(*Group)
		everRead  bool
		want      map[string]bool
		isUnknown bool
	}{
		"registered":                       {prepare: with(Target{Presence: Registered}), want: there},
		"draining":                         {prepare: with(Target{Presence: Draining}), want: there},
		"being registered":                 {prepare: with(Target{Registering: true}), want: there},
		"registration that failed":         {prepare: with(Target{FailedAt: noon}), want: there},
		"remembered only":                  {prepare: with(Target{}), want: map[string]bool{}},
		"not there":                        {prepare: func(g *Group) { g.seen.readAt = noon }, want: map[string]bool{}},
		"not read yet":                     {prepare: func(*Group) {}, want: map[string]bool{}, isUnknown: true},
		"registered, and not read yet":     {prepare: func(g *Group) { g.seen.targets[node] = &Target{Registering: true} }, want: there, isUnknown: true},
		"no such group":                    {prepare: func(g *Group) { g.seen.gone = errors.New("gone") }, everRead: true, want: map[string]bool{}},
		"no such ARN":                      {prepare: func(g *Group) { g.seen.invalid = errors.New("invalid") }, everRead: true, want: map[string]bool{}},
		"never readable":                   {prepare: func(g *Group) { g.health.Failures = 16 }, want: map[string]bool{}},
		"failing once":                     {prepare: func(g *Group) { g.health.Failures = 1 }, want: map[string]bool{}, isUnknown: true},
		"not readable since the restart":   {prepare: func(g *Group) { g.health.Failures = 16 }, everRead: true, want: map[string]bool{}, isUnknown: true},
		"retired, though a target is left": {prepare: func(g *Group) { with(Target{Presence: Registered})(g); g.retired = true }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			g := emptyGroup()
			tc.prepare(g)
			left, known := g.InstancesLeft(map[string]bool{"i-01": true, "i-02": true}, tc.everRead)
			if diff := cmp.Diff(tc.want, left); diff != "" || known == tc.isUnknown {
				t.Errorf("known: %t; left (-want +got):\n%s", known, diff)
			}
		})
	}
}
