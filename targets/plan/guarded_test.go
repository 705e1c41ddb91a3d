// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// A guard must learn soon that the targets of its node have drained. Until they can have, most readings would show nothing new.
func TestNextReadingWhileANodeGuardWaits(t *testing.T) {
	const drift = 5 * time.Minute
	delay := func(seconds int32) *v1beta1.TargetGroupSettings {
		return &v1beta1.TargetGroupSettings{LoadBalancers: 1, DeregistrationDelaySeconds: ptr.To(seconds)}
	}
	draining := func(since time.Duration) targetgroup.Target {
		return targetgroup.Target{Presence: targetgroup.Draining, CalledAt: noon.Add(-since)}
	}
	tests := map[string]struct {
		settings *v1beta1.TargetGroupSettings
		targets  targetgroup.Targets
		want     time.Duration // at most; 0: as for drift
	}{
		"deregistered just now":              {delay(60), targetgroup.Targets{{ID: "i-01", Port: 1}: draining(0)}, 30 * time.Second},
		"drained in a moment":                {delay(60), targetgroup.Targets{{ID: "i-01", Port: 1}: draining(59 * time.Second)}, PollUnsettled},
		"should have drained":                {delay(60), targetgroup.Targets{{ID: "i-01", Port: 1}: draining(time.Hour)}, PollUnsettled},
		"the first of two":                   {delay(60), targetgroup.Targets{{ID: "i-01", Port: 1}: draining(0), {ID: "i-01", Port: 2}: draining(50 * time.Second)}, 10 * time.Second},
		"deregistered by an earlier process": {delay(60), targetgroup.Targets{{ID: "i-01", Port: 1}: {Presence: targetgroup.Draining}}, PollUnsettled},
		"delay not known":                    {&v1beta1.TargetGroupSettings{}, targetgroup.Targets{{ID: "i-01", Port: 1}: draining(0)}, PollUnsettled},
		"settings not known":                 {nil, targetgroup.Targets{{ID: "i-01", Port: 1}: draining(0)}, PollUnsettled},
		"a long delay":                       {delay(3600), targetgroup.Targets{{ID: "i-01", Port: 1}: draining(0)}, 30 * time.Second},
		"another node's":                     {delay(60), targetgroup.Targets{{ID: "i-02", Port: 1}: draining(0)}, 0},
		"still registered":                   {delay(60), targetgroup.Targets{{ID: "i-01", Port: 1}: {Presence: targetgroup.Registered, Health: elbv2.Health{State: elbv2.StateHealthy}}}, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			group := targetgroup.Snapshot{ReadAt: noon, Targets: tc.targets, Settings: tc.settings}
			in := ReadingInput{Group: group, DriftInterval: drift, Guarded: map[string]bool{"i-01": true}}
			got := NextReading(in).At.Sub(noon)
			if tc.want > 0 && got != tc.want || tc.want == 0 && got < drift*4/5 {
				t.Errorf("next reading after %s, want %s (0: as for drift)", got, tc.want)
			}
			in.Guarded = nil
			if got := NextReading(in).At.Sub(noon); got < drift*4/5 {
				t.Errorf("next reading after %s, though no guard waits", got)
			}
		})
	}
}
