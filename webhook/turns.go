// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"
)

const (
	// turnsAtOnce is how many bindings of one namespace are judged at the same time: each may wait for AWS.
	turnsAtOnce = 8
	// turnsInNamespace bounds those that are judged and those that wait for their turn in one namespace, and turnsInAll in all of
	// them together: one namespace alone never has all.
	turnsInNamespace = 64
	turnsInAll       = 256
)

// turns are the reviews of bindings that are judged or wait to be, in the order in which they came in their namespace. They
// are safe for concurrent use.
type turns struct {
	mu     sync.Mutex
	all    int
	queues map[string]*queue // by namespace
}

type queue struct {
	slots *semaphore.Weighted
	held  int // judged or waiting
}

func newTurns() *turns { return &turns{queues: map[string]*queue{}} }

// take waits for a turn, which lasts until done is called. Where too many wait already it does not.
func (t *turns) take(ctx context.Context, namespace string) (done func(), err error) {
	q, err := t.join(namespace)
	if err != nil {
		return nil, err
	}
	if err := q.slots.Acquire(ctx, 1); err != nil {
		t.leave(namespace)
		return nil, fmt.Errorf("waiting for other bindings of namespace %s: %w", namespace, errBusy)
	}
	return func() {
		q.slots.Release(1)
		t.leave(namespace)
	}, nil
}

func (t *turns) join(namespace string) (*queue, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.queues[namespace]
	switch {
	case t.all >= turnsInAll, q != nil && q.held >= turnsInNamespace:
		return nil, errBusy
	case q == nil:
		q = &queue{slots: semaphore.NewWeighted(turnsAtOnce)}
		t.queues[namespace] = q
	}
	q.held++
	t.all++
	return q, nil
}

func (t *turns) leave(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.queues[namespace]
	q.held--
	t.all--
	if q.held == 0 {
		delete(t.queues, namespace)
	}
}
