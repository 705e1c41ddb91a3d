// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package guards

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/readiness"
)

// settleTime is how long a question must have been the same until it gets an answer that lets a guard leave: the watch that shows that
// the node leaves may be behind the one that shows that its guard is deleted, and a pass may be about to register the node.
const settleTime = 2 * time.Second

// question is what a guard asks, by being there: nothing when both are false.
type question struct {
	deleted bool // the guard's pod is being deleted
	leaves  bool // its node leaves
}

func (q question) isAsked() bool { return q.deleted || q.leaves }

// answer is what to tell a guard that has asked q for that long. Left is the binding whose target group may still have its node, empty for
// none; said is what the guard was told last. The zero Health: nothing to tell.
func answer(q question, asked time.Duration, left string, said readiness.Health) readiness.Health {
	switch {
	case q.leaves && left != "":
		return readiness.Health{
			Status: corev1.ConditionFalse, Reason: readiness.ReasonTargetsLeft,
			Message: fmt.Sprintf("The node is still a target of TargetGroupBinding %s, or may be", left),
		}
	case q.isAsked() && asked < settleTime:
		return readiness.Health{}
	case q.leaves:
		return readiness.Health{
			Status: corev1.ConditionTrue, Reason: readiness.ReasonNodeDrained, Message: "The node is in no target group",
		}
	case q.deleted:
		return readiness.Health{
			Status: corev1.ConditionTrue, Reason: readiness.ReasonNodeStays, Message: "The node does not leave",
		}
	case said != readiness.Health{}: // or it would believe that the next time
		return readiness.Health{
			Status: corev1.ConditionFalse, Reason: readiness.ReasonNodeStays, Message: "The node does not leave",
		}
	default:
		return readiness.Health{}
	}
}
