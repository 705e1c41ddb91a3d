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
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Release drops the wishes of a binding that is being deleted. It is done once no rule of ours is left that only this binding wished
// for, in any security group; or after Settings.ReleaseTimeout, and the State names what is left then. Rules stay that another owner of
// the group may rely on: they do not count. The spec is asked for because after a restart nothing else is known of the binding. The
// binding is woken when the answer may be another one.
func (m *Manager) Release(key types.NamespacedName, uid types.UID, networking *v1beta1.TargetGroupBindingNetworking) (done bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	state := m.known[key]
	if state == nil || state.want.UID != uid {
		if networking == nil {
			return true
		}
		state = &bindingState{want: Binding{Key: key, UID: uid, Networking: networking}}
		m.known[key] = state
	}
	if !state.released {
		before := state.wishes
		m.seq++
		state.flows = flowsOf(networking).Union(flowsOf(state.want.Networking)).Union(flowsOfWishes(before))
		state.released, state.releaseAt, state.wishes, state.seq = true, m.Clock.Now(), nil, m.seq
		state.version++
		state.fault, state.problems = nil, nil
		m.wakeAbout(state, before)
		m.bindings.AddAfter(key, m.ReleaseTimeout)
	}
	state.last = m.stateOf(state)
	return state.last == State{} || m.timedOut(state)
}

func flowsOfWishes(wishes map[string]Rules) sets.Set[Flow] {
	flows := sets.Set[Flow]{}
	for _, rules := range wishes {
		for rule := range rules {
			flows.Insert(flowOf(rule))
		}
	}
	return flows
}

func (m *Manager) timedOut(state *bindingState) bool {
	return m.Clock.Since(state.releaseAt) >= m.ReleaseTimeout
}

// endRelease tells of rules that are left though the time of a release is over. Before that it says how much is left of the time.
func (m *Manager) endRelease(key types.NamespacedName) (again time.Duration) {
	m.mu.Lock()
	state := m.known[key]
	if state == nil || !state.released {
		m.mu.Unlock()
		return 0
	}
	left := leftText(m.leftOf(state.flows, state.seq))
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
