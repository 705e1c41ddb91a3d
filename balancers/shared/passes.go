// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import "sync"

// passes are those that may use the shared security group. While it is deleted there are none.
type passes struct {
	mu       sync.Mutex
	under    int  // way
	deleting bool // the group
}

// enter reports whether a pass may begin. If so, it must leave.
func (p *passes) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.deleting {
		p.under++
	}
	return !p.deleting
}

func (p *passes) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.under--
}

// shutOut reports whether no pass is under way. If so, none begins until letIn.
func (p *passes) shutOut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deleting = p.under == 0
	return p.deleting
}

func (p *passes) letIn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deleting = false
}
