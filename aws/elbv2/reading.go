// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"context"
	"sync"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/budget"
)

// MaxNames is how many targets are asked for by name at most. A reading of the whole group costs AWS's budget the same, and
// us as much more as the group has more targets.
const MaxNames = 50

// readings has those who want the same group's health at the same time share one call: until it has its token more callers
// may join. Many bindings may have one target group, each with a pod or two.
type readings struct {
	mu      sync.Mutex
	waiting map[readingKey]*reading
}

// readingKey is what readings have in common that can be shared: no caller is answered with
// another identity's reading, and none waits in another tenant's place.
type readingKey struct {
	session *accounts.Session
	tenant  string
	class   budget.Class
	group   string
}

// reading is one call. The lock of readings guards members and begun.
type reading struct {
	members map[*member]bool
	begun   bool // it has its token, or has failed: no caller can join any longer
	cancel  context.CancelFunc

	asked  chan struct{} // closed when the members' names are known,
	done   chan struct{} // and when there is an answer
	health map[Target]Health
	err    error
}

type member struct {
	ask   Ask
	names []Target // set before asked is closed
}

// read joins a reading, or begins one with call, to which it gives what all members ask for. It returns the answer as far
// as ask wants it.
func (r *readings) read(ctx context.Context, key readingKey, ask Ask,
	call func(context.Context, Ask) (map[Target]Health, error),
) (map[Target]Health, error) {
	m := &member{ask: ask}
	shared := r.join(ctx, key, m, call)
	select {
	case <-shared.done:
	case <-ctx.Done():
		r.leave(key, shared, m)
		return nil, ctx.Err()
	}
	return m.share(shared.health), shared.err
}

func (r *readings) join(ctx context.Context, key readingKey, m *member,
	call func(context.Context, Ask) (map[Target]Health, error),
) *reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	if shared, ok := r.waiting[key]; ok {
		shared.members[m] = true
		return shared
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	shared := &reading{members: map[*member]bool{m: true}, cancel: cancel, asked: make(chan struct{}), done: make(chan struct{})}
	if r.waiting == nil {
		r.waiting = map[readingKey]*reading{}
	}
	r.waiting[key] = shared
	go func() {
		defer cancel()
		shared.health, shared.err = call(ctx, func() []Target { return r.begin(key, shared) })
		r.close(key, shared)
		close(shared.done)
	}()
	return shared
}

// begin ends the time to join, and returns what the members ask for: nil is the whole group.
func (r *readings) begin(key readingKey, shared *reading) []Target {
	r.close(key, shared)
	defer close(shared.asked)
	union, whole := map[Target]bool{}, false
	for m := range shared.members {
		m.names = m.ask()
		whole = whole || len(m.names) == 0
		for _, target := range m.names {
			union[target] = true
		}
	}
	if whole || len(union) > MaxNames && len(shared.members) > 1 {
		return nil
	}
	names := make([]Target, 0, len(union))
	for target := range union {
		names = append(names, target)
	}
	return names
}

// close ends the time to join.
func (r *readings) close(key readingKey, shared *reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting[key] == shared {
		delete(r.waiting, key)
	}
	shared.begun = true
}

// leave ends a reading, or its call, when the last member leaves. Once it has begun it asks for what the member wants, and
// what that says is the member's own: it stays until it has been asked.
func (r *readings) leave(key readingKey, shared *reading, m *member) {
	if r.begun(shared, m) {
		select {
		case <-shared.asked:
		case <-shared.done:
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(shared.members, m)
	if len(shared.members) > 0 {
		return
	}
	shared.cancel()
	if r.waiting[key] == shared {
		delete(r.waiting, key)
	}
}

// begun reports whether the reading has begun. If not, it does so without m.
func (r *readings) begun(shared *reading, m *member) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !shared.begun {
		delete(shared.members, m)
	}
	return shared.begun
}

// share is the part of the answer that the member has asked for.
func (m *member) share(health map[Target]Health) map[Target]Health {
	if len(m.names) == 0 {
		return health
	}
	out := make(map[Target]Health, len(m.names))
	for _, target := range m.names {
		if h, ok := health[target]; ok {
			out[target] = h
		}
	}
	return out
}
