// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"sync"
	"time"

	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	// fenceDelay is how long a namespace is seen with the label before a binding there is taken: API servers learn of a new policy, and
	// of a label, within a second or two, each for itself. It is a pause and no question, as none of them answers for the others, and
	// asking as the incumbent would need the right to impersonate it.
	fenceDelay = 10 * time.Second
	// quietTime is how long the incumbent must leave a binding of ours alone before we work on it again.
	quietTime = time.Minute
)

const rivalWorks = "aws-load-balancer-controller works on this binding, too: its finalizer or its checkpoint annotation has changed. " +
	"Nothing is registered or deregistered by targetgate until it has stopped for a minute. Is the ValidatingAdmissionPolicy of the chart " +
	"there, with its binding, and is beside.incumbentUser the user name of aws-load-balancer-controller?"

// rival is what passes have seen of the incumbent's work on a binding that is ours.
type rival struct {
	known      bool
	checkpoint [2]string // the annotations at the last pass
	finalizer  bool      // the incumbent's stood beside ours then
	alarmTill  time.Time
}

// look compares the binding with the last pass, and says for how long nothing is to be done for it, and whether that is for alarm. A pass
// that the incumbent began before the binding was ours may end until settlesAt.
func (v *rival) look(binding *v1beta1.TargetGroupBinding, settlesAt, now time.Time) (wait time.Duration, alarm bool) {
	before := *v
	v.known, v.finalizer = true, ownership.HasBoth(binding)
	v.checkpoint = [2]string{
		binding.Annotations[v1beta1.CheckpointAnnotation], binding.Annotations[v1beta1.CheckpointTimestampAnnotation],
	}
	if v.finalizer && !before.finalizer || before.known && v.checkpoint != before.checkpoint && !now.Before(settlesAt) {
		v.alarmTill = now.Add(quietTime)
	}
	if wait := v.alarmTill.Sub(now); wait > 0 {
		return wait, true
	}
	return settlesAt.Sub(now), false
}

// fences knows since when namespaces have the label, as this process has seen them. Safe for concurrent use.
type fences struct {
	mu    sync.Mutex
	since map[string]time.Time
}

func (f *fences) see(namespace string, registered bool, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !registered {
		delete(f.since, namespace)
		return
	}
	if f.since == nil {
		f.since = map[string]time.Time{}
	}
	if _, known := f.since[namespace]; !known {
		f.since[namespace] = now
	}
}

// wait is how long it is until every API server must know the label of a namespace that was seen.
func (f *fences) wait(namespace string, now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.since[namespace].Add(fenceDelay).Sub(now)
}
