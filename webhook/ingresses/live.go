// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingresses

import (
	"context"
	"sync"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// livePause is the least time between two lists of IngressClasses by the API server. Whoever may create Ingresses can name classes that do
// not exist as often as they like.
const livePause = time.Second

// liveClasses lists IngressClasses by the API server itself, at most once in livePause. It is safe for concurrent use, and holds no lock
// during a call.
type liveClasses struct {
	reader client.Reader

	mu      sync.Mutex
	next    *listing  // that has not begun
	earlier time.Time // when the last one begins
}

// listing is one list, for all who ask before it begins.
type listing struct {
	done    chan struct{}
	classes networkingv1.IngressClassList
	err     error
}

// list returns the classes that there are after the call, which waits for its turn.
func (l *liveClasses) list(ctx context.Context) (*networkingv1.IngressClassList, error) {
	shared := l.join(ctx)
	select {
	case <-shared.done:
		return &shared.classes, shared.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *liveClasses) join(ctx context.Context) *listing {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next != nil {
		return l.next
	}
	now := time.Now()
	wait := max(0, l.earlier.Add(livePause).Sub(now))
	l.next, l.earlier = &listing{done: make(chan struct{})}, now.Add(wait)
	go l.run(context.WithoutCancel(ctx), l.next, wait)
	return l.next
}

// run goes on if whoever asked first gives up: others may wait for it.
func (l *liveClasses) run(ctx context.Context, shared *listing, wait time.Duration) {
	defer close(shared.done)
	time.Sleep(wait)
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	l.mu.Lock()
	l.next = nil
	l.mu.Unlock()
	shared.err = l.reader.List(ctx, &shared.classes)
}
