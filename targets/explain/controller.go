// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// promptness is how long targetgate may take to act before something must be wrong. It acts within a second or two; a new
// leader may have to wait for the lease of one that was killed, 15 s, and fill its caches.
const promptness = 30 * time.Second

// controllerLink is about targetgate itself: whether it runs, and has looked at the binding.
func (s *scene) controllerLink() Link {
	dead, at := s.leaderless()
	behind := s.behind()
	switch {
	case dead && s.now.Sub(at) >= promptness:
		return link("targetgate", Broken, "does not run: nobody has renewed lease %s since %s", s.leaseKey, stamp(at)).
			advise("See to its pods: kubectl -n %s get pods; their logs say why they do not lead", s.leaseKey.Namespace)
	case dead:
		return link("targetgate", Waiting, "has no leader since %s: another replica takes over", stamp(at))
	case behind != "" && s.now.Sub(changedAt(s.binding)) < promptness:
		return link("targetgate", Waiting, "%s", behind)
	case behind != "" && s.lease != nil:
		return link("targetgate", Broken, "%s, although %s leads", behind, s.holder()).
			advise("Does targetgate watch namespace %s (--watch-namespace)? Its log says what it does", s.binding.Namespace)
	case behind != "":
		return link("targetgate", Broken, "%s, and %s", behind, s.noLease()).
			advise("Is targetgate installed? If its lease is elsewhere, name that: --leader-election-namespace, --leader-election-id")
	case s.lease == nil:
		return link("targetgate", Unknown, "has seen the binding's newest generation; whether it still runs is not known: %s", s.noLease())
	default:
		return link("targetgate", OK, "%s leads, and has seen the binding's newest generation", s.holder())
	}
}

// leaderless reports whether there is a lease that nobody holds now, and since when.
func (s *scene) leaderless() (bool, time.Time) {
	if s.lease == nil || s.lease.Spec.RenewTime == nil {
		return false, time.Time{}
	}
	renewed, duration := s.lease.Spec.RenewTime.Time, 15*time.Second // what controller-runtime sets
	if s.lease.Spec.LeaseDurationSeconds != nil {
		duration = time.Duration(*s.lease.Spec.LeaseDurationSeconds) * time.Second
	}
	return s.holder() == "" || s.now.Sub(renewed) > duration, renewed
}

func (s *scene) holder() string {
	if s.lease == nil || s.lease.Spec.HolderIdentity == nil {
		return ""
	}
	name, _, _ := strings.Cut(*s.lease.Spec.HolderIdentity, "_")
	return name
}

func (s *scene) noLease() string {
	switch {
	case apierrors.IsNotFound(s.leaseErr):
		return fmt.Sprintf("there is no lease %s", s.leaseKey)
	case apierrors.IsForbidden(s.leaseErr):
		return fmt.Sprintf("you may not read lease %s", s.leaseKey)
	default:
		return fmt.Sprintf("lease %s cannot be read: %v", s.leaseKey, s.leaseErr)
	}
}

// behind says that targetgate has not seen what the binding asks for now, empty when it has. The status's own generation stays
// behind for longer, while AWS does not answer.
func (s *scene) behind() string {
	switch seen := s.status(v1beta1.ConditionReady).ObservedGeneration; {
	case seen == 0:
		return "has never looked at the binding"
	case seen < s.binding.Generation:
		return fmt.Sprintf("has seen generation %d of the binding, not %d", seen, s.binding.Generation)
	default:
		return ""
	}
}

// changedAt is when somebody last changed the binding, but for its status.
func changedAt(binding *v1beta1.TargetGroupBinding) time.Time {
	at := binding.CreationTimestamp.Time
	for _, change := range binding.ManagedFields {
		if change.Subresource == "" && change.Time != nil && change.Time.After(at) {
			at = change.Time.Time
		}
	}
	return at
}
