// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/targets/networking/members"
	"github.com/targetgate/targetgate/targets/networking/ruleset"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// bindingState is what is known of a binding. Manager.mu guards it.
type bindingState struct {
	want     *Binding      // never changed
	reach    ruleset.Reach // of its spec
	version  int           // of want
	tried    int           // the version that was last looked at
	resolved bool          // every member of want was found, and every rule is known

	wishes  map[string]ruleset.Rules // by security group
	seq     uint64                   // when the wishes last changed
	fault   error                    // of the spec
	trouble trouble                  // of members

	released  bool
	releaseAt time.Time
	before    map[string]ruleset.Rules // the wishes until the release
	last      State
}

// problem is why a member is not resolved.
type problem struct {
	member members.Member
	err    error
	final  bool // what the member wishes for is known all the same
}

// trouble sums the problems of a binding's members up.
type trouble struct {
	text    string // empty for none
	passing bool   // a read of EC2 has failed
}

// groupState is what is known of a security group. Manager.mu guards it; record and refusals are changed by its passes alone, which
// come one after the other.
type groupState struct {
	Stored
	refusals map[ec2.Rule]ruleset.Refusal
	flows    sets.Set[ruleset.Flow] // of outcome; before there was a pass, of the rules of the record
	last     outcome
	passed   bool   // there was a pass
	tenant   string // the namespace whose change woke it, empty for a drift check
}

// asker is a binding, and what it can ask for.
type asker struct {
	key   types.NamespacedName
	reach ruleset.Reach
}

// reaches remembers what the specs of listed bindings can ask for. Some are never handed over, and every pass over a security group asks.
type reaches struct {
	mu    sync.Mutex
	known map[*v1beta1.TargetGroupBindingNetworking]ruleset.Reach // specs are not changed, but replaced
}

// of is what each of the bindings can ask for. It forgets all other specs. Passes side by side may each read a new one.
func (r *reaches) of(bindings []Binding) []ruleset.Reach {
	r.mu.Lock()
	before := r.known // which is replaced, and not changed
	r.mu.Unlock()
	known, out := make(map[*v1beta1.TargetGroupBindingNetworking]ruleset.Reach, len(bindings)), make([]ruleset.Reach, len(bindings))
	for i, binding := range bindings {
		reach, isKnown := before[binding.Networking]
		if !isKnown {
			reach = ruleset.ReachOf(binding.Networking)
		}
		known[binding.Networking], out[i] = reach, reach
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = known
	return out
}
