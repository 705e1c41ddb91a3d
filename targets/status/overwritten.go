// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/targetgate/targetgate/targets/conditions"
	"github.com/targetgate/targetgate/targets/contest"
	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// overwritten tells of a status that somebody else has changed.
var overwritten = events.Warning(contest.Reason, "PutBack", "Somebody else than targetgate has changed or removed the status. It is put "+
	"back; while that goes on, after 30 s at most each time. Find who writes it (managedFields say so): the manifest of a binding needs no "+
	"status")

// IsForeign reports whether the status of the binding is neither one of ours nor older than that: somebody else has written it.
func (s *Status) IsForeign(binding *v1beta1.TargetGroupBinding) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if contest.IsBehind(binding.ResourceVersion, s.version) {
		return false
	}
	ours := []*v1beta1.TargetGroupBindingStatus{s.written, s.sending}
	if s.next != nil {
		ours = append(ours, s.next.status)
	}
	for _, one := range ours {
		if one != nil && contains(&binding.Status, one) {
			return false
		}
	}
	return true
}

// adopt takes in that the status was right when this process saw it first. The caller holds the lock.
func (s *Status) adopt(right *v1beta1.TargetGroupBindingStatus) {
	if s.written == nil && s.sending == nil && s.next == nil {
		s.written = right
	}
}

// see takes in what the cache shows of the status, and reports whether users are to be told that somebody else has changed it. It is
// written again then, after the pause.
func (s *Status) see(binding *v1beta1.TargetGroupBinding, now time.Time) (tell bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.sending != nil || s.next != nil:
		s.seen = binding.ResourceVersion
		return false
	case s.written == nil || contains(&binding.Status, s.written) || s.lost == binding.ResourceVersion:
		return false
	case contest.IsBehind(binding.ResourceVersion, s.version) && now.Sub(s.writtenAt) < conditions.CacheLag:
		return false
	}
	contest.Count(contest.Status)
	pause, tell := s.contest.Lost(now)
	s.lost = binding.ResourceVersion
	if retryAt := now.Add(pause); retryAt.After(s.retryAt) {
		s.retryAt = retryAt
	}
	return tell
}

// contains reports whether a status says all that we wrote. It may have conditions of others.
func contains(there, ours *v1beta1.TargetGroupBindingStatus) bool {
	for i := range ours.Conditions {
		c := &ours.Conditions[i]
		if found := apimeta.FindStatusCondition(there.Conditions, c.Type); found == nil || !equality.Semantic.DeepEqual(found, c) {
			return false
		}
	}
	rest := *there
	rest.Conditions = ours.Conditions
	return equality.Semantic.DeepEqual(&rest, ours)
}
