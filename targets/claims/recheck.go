// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"maps"
	"time"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/contest"
	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/targets/writes"
)

// recheckPause is how often the record of a shared group is read to see whether somebody else has changed it: ConfigMaps are not watched,
// as that takes the right to list all of them.
const recheckPause = 40 * time.Second

// recheck has the record read beside the pass when that is due, and says when it is the next time; 0 for a group that is not shared. The
// caller holds the lock.
func (w *Writer) recheck(c *Claims, binding *v1beta1.TargetGroupBinding) (again time.Duration) {
	now := w.clock.Now()
	switch {
	case !binding.Spec.MultiClusterTargetGroup || !c.recordWritten || c.slot.Busy:
		return 0
	case c.recheckAt.IsZero(): // it was read or written just now
		c.recheckAt = now.Add(retry.Jitter(recheckPause))
	case !now.Before(c.recheckAt):
		c.recheckAt = now.Add(retry.Jitter(recheckPause))
		go w.compare(c, binding, c.record)
	}
	return c.recheckAt.Sub(now)
}

// compare reads the record, and has it written again if it is not the one that we wrote.
func (w *Writer) compare(c *Claims, binding *v1beta1.TargetGroupBinding, ours ownership.Record) {
	ctx, cancel := context.WithTimeout(w.context, writes.Timeout)
	defer cancel()
	found, err := w.ReadRecord(ctx, binding)
	if err != nil {
		ctrl.LoggerFrom(w.context).Error(err, "Failed to read the record of our targets, will retry", "binding", klog.KObj(binding))
		return
	}
	if found.Exists && found.For == binding.UID && maps.Equal(found.Record, ours) {
		return
	}
	lost, tell := c.loseRecord(ours, w.clock.Now())
	if tell {
		w.reporter.Event(binding, events.Warning(contest.Reason, "PutBack", "Somebody else than targetgate has changed or removed ConfigMap %s, "+
			"the record of the targets that targetgate has registered in the shared target group. It is written again; while that goes on, "+
			"within a minute each time", ownership.RecordName(binding.Name)))
	}
	if lost {
		w.requeue(client.ObjectKeyFromObject(binding))
	}
}

// loseRecord has the record written again, unless that is done already, or it was written meanwhile.
func (c *Claims) loseRecord(ours ownership.Record, now time.Time) (lost, tell bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.slot.Busy || !c.recordWritten || !maps.Equal(c.record, ours) {
		return false, false
	}
	contest.Count(contest.Record)
	_, tell = c.records.Lost(now) // the readings are far enough apart
	c.recordWritten, c.recordLost = false, true
	return true, tell
}
