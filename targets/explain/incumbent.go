// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strconv"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// marks are what aws-load-balancer-controller leaves on a binding that it works on: its finalizer, which it adds first, and its checkpoint,
// which it empties before it changes targets and fills when its pass has ended well.
type marks struct {
	now     time.Time
	binding *v1beta1.TargetGroupBinding
}

// incumbentLinks are about its work on the binding: none where it is not, or not yet, to register the targets.
func (r registrar) incumbentLinks() []Link {
	switch {
	case ownership.Beside.Holds(r.binding):
		return nil
	case r.hasBegun():
		return []Link{r.checkpointLink()}
	case r.isLabelled() && ownership.Unfenced(&r.binding.Spec) == "":
		return nil
	default:
		return []Link{r.unlessYoung(Broken, "has not begun: its finalizer %s is not on the binding", v1beta1.Finalizer)}
	}
}

// hasBegun reports whether its finalizer is there.
func (m marks) hasBegun() bool { return controllerutil.ContainsFinalizer(m.binding, v1beta1.Finalizer) }

func (m marks) checkpointLink() Link {
	checkpoint, there := m.binding.Annotations[v1beta1.CheckpointAnnotation]
	at, known := m.checkpointAt()
	switch {
	case !m.binding.DeletionTimestamp.IsZero():
		return link("incumbent", Waiting, "aws-load-balancer-controller deregisters the targets: the binding was deleted at %s",
			stamp(m.binding.DeletionTimestamp.Time))
	case !there:
		return m.unlessYoung(Unknown, "has its finalizer on the binding, and no checkpoint: no pass has succeeded, or its version is "+
			"older than 2.10, which leaves none")
	case checkpoint == "" && known && m.now.Sub(at) < promptness:
		return link("incumbent", Waiting, "a pass of aws-load-balancer-controller has been under way since %s, or has failed", stamp(at))
	case checkpoint == "":
		return m.unlessYoung(Broken, "has an empty checkpoint%s: its last pass failed", m.since(at, known))
	default:
		return link("incumbent", OK, "the last pass of aws-load-balancer-controller in which something changed has succeeded%s",
			m.since(at, known))
	}
}

// unlessYoung has that state unless the binding has just changed: the incumbent is given some time then.
func (m marks) unlessYoung(state State, format string, args ...any) Link {
	l := link("incumbent", state, "aws-load-balancer-controller "+format, args...)
	if m.now.Sub(changedAt(m.binding)) < promptness {
		l.State = Waiting
		return l
	}
	return l.advise("It tries again by itself, at most 1,000 s later. Its log and the binding's events say why: kubectl -n %s describe "+
		"targetgroupbinding %s", m.binding.Namespace, m.binding.Name)
}

// since is the age of the checkpoint, as far as it is known.
func (m marks) since(at time.Time, known bool) string {
	if !known {
		return ""
	}
	return " (" + stamp(at) + ", " + m.now.Sub(at).Round(time.Second).String() + " ago)"
}

// checkpointAt is when the incumbent wrote its checkpoint.
func (m marks) checkpointAt() (at time.Time, known bool) {
	seconds, err := strconv.ParseInt(m.binding.Annotations[v1beta1.CheckpointTimestampAnnotation], 10, 64)
	return time.Unix(seconds, 0), err == nil && seconds > 0
}
