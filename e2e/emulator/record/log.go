// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import "sync"

// Log is an append-only list that is safe for concurrent use.
type Log[T any] struct {
	limit int

	mu    sync.Mutex
	items []T
}

// New makes an empty log that keeps the first limit items and ignores what comes after them; limit 0 is no limit.
func New[T any](limit int) *Log[T] {
	return &Log[T]{limit: limit}
}

// Append adds one item.
func (l *Log[T]) Append(item T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limit == 0 || len(l.items) < l.limit {
		l.items = append(l.items, item)
	}
}

// Since returns the items from position n on, oldest first; none when there are no more than n. The slice is the
// log's own memory: it never changes, and it must not be written to.
func (l *Log[T]) Since(n int) []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	n = max(n, 0)
	if n >= len(l.items) {
		return nil
	}
	return l.items[n:len(l.items):len(l.items)]
}
