// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/fixture"
)

// A target that gets lost again and again is told of now and then, and no other is forgotten meanwhile.
func TestTargetsAreToldOfNowAndThen(t *testing.T) {
	var emitted []string
	lost, start := Unreported{}, time.Now()
	tell := func(after time.Duration, targets ...elbv2.Target) {
		if names := lost.due(targets, start.Add(after)); names != "" {
			emitted = append(emitted, names)
		}
	}
	two := elbv2.Target{ID: "10.0.0.2", Port: 8080}
	tell(0)
	tell(time.Second, fixture.One)
	tell(2*time.Second, two, fixture.One)
	tell(3*time.Second, two)
	tell(unreportedPause)
	tell(unreportedPause + time.Second)
	tell(3 * unreportedPause)
	tell(3*unreportedPause, fixture.One)
	want := []string{fixture.One.String(), fixture.One.String() + ", " + two.String(), fixture.One.String()}
	if diff := cmp.Diff(want, emitted); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}
