// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"context"
	"maps"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/targets/contest"
	"github.com/targetgate/targetgate/targets/retry"
)

// recheckPause is how often the records are read to see whether somebody else has changed them.
const recheckPause = 40 * time.Second

// recheck has records written again that somebody else has changed, until ctx ends.
func (m *Manager) recheck(ctx context.Context) {
	for {
		timer := m.Clock.NewTimer(retry.Jitter(recheckPause))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
		before := m.recorded()
		stored, err := m.Records.Load(ctx)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to read the records of security group rules, will retry")
			continue
		}
		for _, id := range m.changedRecords(before, stored) {
			contest.Count(contest.Record)
			ctrl.LoggerFrom(ctx).Info("Somebody else has changed the record of our rules of a security group, writing it again", "securityGroup", id)
			m.groupQueue.Add(id)
		}
	}
}

// recorded are the records of all groups, as they were written.
func (m *Manager) recorded() map[string]Stored {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]Stored{}
	for id, group := range m.groups {
		out[id] = group.Stored
	}
	return out
}

// changedRecords are the groups whose records are otherwise than we wrote them. One that we have written meanwhile is not known to be.
func (m *Manager) changedRecords(before, stored map[string]Stored) (ids []string) {
	for id, now := range m.recorded() {
		was := before[id]
		isStill := was.Err == nil && now.Err == nil && maps.Equal(was.Record, now.Record)
		if isStill && len(now.Record) > 0 && (stored[id].Err != nil || stored[id].Record.String() != now.Record.String()) {
			ids = append(ids, id)
		}
	}
	return ids
}
