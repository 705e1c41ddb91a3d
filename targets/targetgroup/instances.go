// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targetgroup

// InstancesLeft says which of the instances have a target in the group: registered, draining, or on the way in by a call that is under
// way or may have had its effect. It is not known, and nothing is said, before the first reading. Nothing is left of a group that AWS
// does not know, nor in one that was retired: whatever is in it, no call of ours will change that. The same holds for one whose
// readings fail again and again, unless it was everRead, by an earlier process: nothing is registered before a reading.
func (g *Group) InstancesLeft(instances map[string]bool, everRead bool) (left map[string]bool, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.retired {
		return nil, true
	}
	left = map[string]bool{}
	for id, t := range g.seen.targets {
		if instances[id.ID] && t.isThere() {
			left[id.ID] = true
		}
	}
	absent := g.seen.gone != nil || g.seen.invalid != nil
	return left, !g.seen.readAt.IsZero() || absent || !everRead && g.health.Hopeless()
}
