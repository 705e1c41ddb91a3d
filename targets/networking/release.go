// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/targets/networking/ruleset"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Release drops the wishes of a binding that is being deleted. It is done once no rule of ours is left that only this binding can have
// asked for, in any security group; or after Settings.ReleaseTimeout, and the State names what is left then. Rules stay that another
// binding, or another owner of the group, may need: nothing waits for them, and the State names them. The spec is asked for because
// after a restart nothing else is known of the binding. The binding is woken when the answer may be another one.
func (m *Manager) Release(key types.NamespacedName, uid types.UID, networking *v1beta1.TargetGroupBindingNetworking) (done bool) {
	reach, started := m.releaseReach(key, uid, networking)
	if !started && networking == nil && reach == nil {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	state := m.bindings[key]
	if state == nil || state.want.UID != uid {
		state = &bindingState{want: &Binding{Key: key, UID: uid, Networking: networking}}
		m.bindings[key] = state
	}
	if !state.released {
		before := state.wishes
		m.seq++
		state.reach, state.before = reach, before
		state.released, state.releaseAt, state.wishes, state.seq = true, m.Clock.Now(), nil, m.seq
		state.version++
		state.fault, state.trouble = nil, trouble{}
		m.wakeAbout(state, before)
		m.bindingQueue.AddAfter(key, m.ReleaseTimeout)
	}
	state.last = m.stateOf(state)
	return state.last.Progress == "" || state.last.Progress == Ready || state.timedOut(m.Clock, m.ReleaseTimeout)
}

// releaseReach is what the binding can have asked for: by its spec, the one before, and the wishes that it had. It is nil for a binding
// that is not known. What a resolution finds meanwhile is within it.
func (m *Manager) releaseReach(key types.NamespacedName, uid types.UID, networking *v1beta1.TargetGroupBindingNetworking) (
	reach ruleset.Reach, started bool,
) {
	m.mu.Lock()
	state := m.bindings[key]
	known := state != nil && state.want.UID == uid
	var wishes map[string]ruleset.Rules
	if known {
		started, reach, wishes = state.released, state.reach, state.wishes
	}
	m.mu.Unlock()
	switch {
	case started:
		return reach, true
	case known:
		return ruleset.UnionOf(ruleset.ReachOf(networking), reach, ruleset.ReachOfWishes(wishes)), false
	case networking == nil:
		return nil, false
	default:
		return ruleset.ReachOf(networking), false
	}
}

func (s *bindingState) timedOut(clock clock.PassiveClock, timeout time.Duration) bool {
	return clock.Since(s.releaseAt) >= timeout
}

// endRelease tells of rules that are left though the time of a release is over. Before that it says how much is left of the time.
func (m *Manager) endRelease(key types.NamespacedName) (again time.Duration) {
	m.mu.Lock()
	state := m.bindings[key]
	if state == nil || !state.released {
		m.mu.Unlock()
		return 0
	}
	rules, _ := m.leftOf(state)
	left := leftText(rules)
	again = m.ReleaseTimeout - m.Clock.Since(state.releaseAt)
	m.mu.Unlock()
	if again > 0 {
		return again
	}
	if left != "" {
		ctrl.Log.Info("A deleted binding leaves security group rules behind, they are removed once that is possible",
			"binding", key.String(), "left", left)
	}
	m.Wake(key)
	return 0
}

// leftText names rules by security group: "sg-1: tcp 80 from sg-2, tcp 443 from sg-2; sg-3: ...".
func leftText[R fmt.Stringer](left map[string][]R) string {
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(left)) {
		var rules []string
		for _, rule := range left[id] {
			rules = append(rules, rule.String())
		}
		slices.Sort(rules)
		rules = slices.Compact(rules)
		if more := len(rules) - maxNamed; more > 0 {
			rules = append(rules[:maxNamed], fmt.Sprintf("and %d more", more))
		}
		parts = append(parts, id+": "+strings.Join(rules, ", "))
	}
	return strings.Join(parts, "; ")
}
