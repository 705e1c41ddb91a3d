// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/targetgroup"
)

// A target that somebody has removed is not asked for again and again because its pod is not ready.
func TestMissingTargetOfUnreadyPodIsDeregistered(t *testing.T) {
	a, c := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
	inBed(t, func(b *bed) {
		b.run(time.Second, webKey)
		b.aws.SetHealth(testARN, one, healthy)
		b.aws.SetHealth(testARN, two, healthy)
		b.run(targetgroup.SettleTime + time.Second)
		var pod corev1.Pod
		b.must(b.cluster.Get(t.Context(), podKey("web-0"), &pod))
		readiness.Condition(&pod, corev1.ContainersReady).Status = corev1.ConditionFalse
		b.must(b.cluster.Status().Update(t.Context(), &pod))
		b.aws.Forget(testARN, one)
		b.run(testDrift, webKey)
		before := b.readings()
		b.run(time.Hour)
		if n := b.readings() - before; n > 16 {
			t.Errorf("%d readings in an hour, want those for drift", n)
		}
		if n := len(b.aws.Calls("DeregisterTargets")); n != 1 {
			t.Errorf("%d deregistrations, want one", n)
		}
	}, a, c, newSlice("web-1", a, c))
}
