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

// incumbentLinks are about a binding that aws-load-balancer-controller works on, by the marks that it leaves there: its finalizer, which it
// adds first, and its checkpoint, which it empties before it changes targets and fills when its pass has ended well. They are none where it
// is not, or not yet, to register the targets.
func (s *bindingState) incumbentLinks() []Link {
	switch {
	case ownership.Beside.Holds(s.binding):
		return nil
	case !s.isTheirs():
		if ownership.IsRegistered(s.namespaceLabels()) && ownership.Unfenced(&s.binding.Spec) == "" {
			return nil
		}
		return []Link{s.unlessYoung(Broken, "has not begun: its finalizer %s is not on the binding", v1beta1.Finalizer)}
	default:
		return []Link{s.checkpointLink()}
	}
}

// isTheirs reports whether the incumbent has begun with the binding.
func (s *bindingState) isTheirs() bool {
	return controllerutil.ContainsFinalizer(s.binding, v1beta1.Finalizer)
}

func (s *bindingState) checkpointLink() Link {
	checkpoint, there := s.binding.Annotations[v1beta1.CheckpointAnnotation]
	at, known := s.checkpointAt()
	switch {
	case !s.binding.DeletionTimestamp.IsZero():
		return link("incumbent", Waiting, "aws-load-balancer-controller deregisters the targets: the binding is being deleted since %s",
			stamp(s.binding.DeletionTimestamp.Time))
	case !there:
		return s.unlessYoung(Unknown, "has its finalizer on the binding, and no checkpoint: no pass has ended well, or its version is "+
			"older than 2.10, which leaves none")
	case checkpoint == "" && known && s.now.Sub(at) < promptness:
		return link("incumbent", Waiting, "a pass of aws-load-balancer-controller is under way since %s, or has not ended well", stamp(at))
	case checkpoint == "":
		return s.unlessYoung(Broken, "has an empty checkpoint%s: its last pass has not ended well", s.since(at, known))
	default:
		return link("incumbent", OK, "the last pass of aws-load-balancer-controller in which something changed has ended well%s",
			s.since(at, known))
	}
}

// unlessYoung has that state unless the binding has just changed: the incumbent is given some time then.
func (s *bindingState) unlessYoung(state State, format string, args ...any) Link {
	l := link("incumbent", state, "aws-load-balancer-controller "+format, args...)
	if s.now.Sub(changedAt(s.binding)) < promptness {
		l.State = Waiting
		return l
	}
	return l.advise("It tries again by itself, at most 1,000 s later. Its log and the binding's events say why: kubectl -n %s describe "+
		"targetgroupbinding %s", s.binding.Namespace, s.binding.Name)
}

// since is the age of the checkpoint, as far as it is known.
func (s *bindingState) since(at time.Time, known bool) string {
	if !known {
		return ""
	}
	return " (" + stamp(at) + ", " + s.now.Sub(at).Round(time.Second).String() + " ago)"
}

// checkpointAt is when the incumbent wrote its checkpoint.
func (s *bindingState) checkpointAt() (at time.Time, known bool) {
	seconds, err := strconv.ParseInt(s.binding.Annotations[v1beta1.CheckpointTimestampAnnotation], 10, 64)
	return time.Unix(seconds, 0), err == nil && seconds > 0
}
