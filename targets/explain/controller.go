// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// promptness is how long targetgate may take to act before something must be wrong. It acts within a second or two; a new
// leader may have to wait for the lease of one that was killed, 15 s, and fill its caches.
const promptness = 30 * time.Second

// controllerLink is about targetgate itself: whether it runs, and has looked at the binding.
func (s *bindingState) controllerLink() Link {
	dead, at := s.leader.isGone(s.now)
	behind := s.behind()
	switch {
	case dead && s.now.Sub(at) >= promptness:
		return link("targetgate", Broken, "does not run: lease %s has not been renewed since %s, and it is %s by the API server's clock",
			s.leader.key, stamp(at), stamp(s.now)).
			advise("Check its pods: kubectl -n %s get pods; their logs say why they do not lead", s.leader.key.Namespace)
	case dead:
		return link("targetgate", Waiting, "has had no leader since %s: another replica will take over", stamp(at))
	case behind != "" && s.now.Sub(changedAt(s.binding)) < promptness:
		return link("targetgate", Waiting, "%s", behind)
	case behind != "" && s.leader.lease != nil:
		return link("targetgate", Broken, "%s, although %s leads", behind, s.leader.name()).
			advise("Does targetgate watch namespace %s (--watch-namespace)? Its log says what it does", s.binding.Namespace)
	case behind != "":
		return link("targetgate", Broken, "%s, and %s", behind, s.leader.unread()).
			advise("Is targetgate installed? If its lease is elsewhere, name that: --leader-election-namespace, --leader-election-id")
	case s.leader.lease == nil:
		return link("targetgate", Unknown, "has seen the binding's newest generation; whether it still runs is not known: %s", s.leader.unread())
	default:
		return link("targetgate", OK, "%s leads, and has seen the binding's newest generation", s.leader.name())
	}
}

// leader is the replica that holds the lease.
type leader struct {
	key   client.ObjectKey
	lease *coordinationv1.Lease // nil when it was not read
	err   error
}

func readLeader(ctx context.Context, reader client.Reader, key client.ObjectKey) leader {
	var lease coordinationv1.Lease
	if err := reader.Get(ctx, key, &lease); err != nil {
		return leader{key: key, err: err}
	}
	return leader{key: key, lease: &lease}
}

// isGone reports whether there is a lease that no replica holds now, and since when.
func (l leader) isGone(now time.Time) (bool, time.Time) {
	if l.lease == nil || l.lease.Spec.RenewTime == nil {
		return false, time.Time{}
	}
	renewed, duration := l.lease.Spec.RenewTime.Time, 15*time.Second // what controller-runtime sets
	if l.lease.Spec.LeaseDurationSeconds != nil {
		duration = time.Duration(*l.lease.Spec.LeaseDurationSeconds) * time.Second
	}
	return l.name() == "" || now.Sub(renewed) > duration, renewed
}

// name is the name of its pod, empty when there is none.
func (l leader) name() string {
	if l.lease == nil || l.lease.Spec.HolderIdentity == nil {
		return ""
	}
	name, _, _ := strings.Cut(*l.lease.Spec.HolderIdentity, "_")
	return name
}

// unread says why the lease was not read.
func (l leader) unread() string {
	switch {
	case apierrors.IsNotFound(l.err):
		return fmt.Sprintf("there is no lease %s", l.key)
	case apierrors.IsForbidden(l.err):
		return fmt.Sprintf("you may not read lease %s", l.key)
	default:
		return fmt.Sprintf("lease %s cannot be read: %v", l.key, l.err)
	}
}

// behind says that targetgate has not seen what the binding asks for now, empty when it has. The status's own generation stays
// behind for longer, while AWS does not answer.
func (s *bindingState) behind() string {
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
