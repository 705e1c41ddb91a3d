// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/targetgate/targetgate/webhook/review"
)

const (
	// turnsAtOnce is how many bindings of one namespace are validated at the same time: each may wait for AWS.
	turnsAtOnce = 8
	// turnsInNamespace limits the bindings of one namespace that are being validated or wait for it, turnsInAll those of all
	// namespaces: no namespace alone can take all turns.
	turnsInNamespace = 64
	turnsInAll       = 256
)

// turns limits the reviews of bindings that are validated at the same time. Within a namespace, reviews wait in order of
// arrival. It is safe for concurrent use. A semaphore alone has one line for all callers, in which one namespace could keep the
// others waiting.
type turns struct {
	mu     sync.Mutex
	all    int
	queues map[string]*queue // by namespace
}

type queue struct {
	slots *semaphore.Weighted
	held  int // being validated or waiting
}

func newTurns() *turns { return &turns{queues: map[string]*queue{}} }

// take waits for a turn, which lasts until done is called. If too many wait already, it fails at once.
func (t *turns) take(ctx context.Context, namespace string) (done func(), err error) {
	q, err := t.join(namespace)
	if err != nil {
		return nil, err
	}
	if err := q.slots.Acquire(ctx, 1); err != nil {
		t.leave(namespace)
		return nil, fmt.Errorf("waiting for other bindings of namespace %s: %w", namespace, review.ErrBusy)
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
		return nil, review.ErrBusy
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
