// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"container/list"
	"time"
)

// recent keeps a value until it has not been asked for during life, and at most limit values: the least recently used goes
// first. It is not safe for concurrent use.
type recent[K comparable, V any] struct {
	limit  int
	life   time.Duration
	forgot func(V) // is told of each value that goes for one of these reasons; may be nil

	order list.List // of *memory, asked for last in front
	byKey map[K]*list.Element
}

type memory[K comparable, V any] struct {
	key   K
	value V
	asked time.Time
}

func newRecent[K comparable, V any](limit int, life time.Duration, forgot func(V)) *recent[K, V] {
	return &recent[K, V]{limit: limit, life: life, forgot: forgot, byKey: map[K]*list.Element{}}
}

func (r *recent[K, V]) len() int { return r.order.Len() }

func (r *recent[K, V]) values() (out []V) {
	for e := r.order.Front(); e != nil; e = e.Next() {
		out = append(out, r.at(e).value)
	}
	return out
}

// get is the value of that key, which counts as asked for.
func (r *recent[K, V]) get(key K, now time.Time) (value V, ok bool) {
	r.prune(now)
	at, ok := r.byKey[key]
	if !ok {
		return value, false
	}
	r.order.MoveToFront(at)
	m := r.at(at)
	m.asked = now
	return m.value, true
}

// put remembers a value. There must be none of that key.
func (r *recent[K, V]) put(key K, value V, now time.Time) {
	r.byKey[key] = r.order.PushFront(&memory[K, V]{key: key, value: value, asked: now})
	r.prune(now)
}

// take forgets the value of that key, if there is one, without telling.
func (r *recent[K, V]) take(key K) (value V, ok bool) {
	at, ok := r.byKey[key]
	if !ok {
		return value, false
	}
	delete(r.byKey, key)
	r.order.Remove(at)
	return r.at(at).value, true
}

func (r *recent[K, V]) prune(now time.Time) {
	for last := r.order.Back(); last != nil; last = r.order.Back() {
		m := r.at(last)
		if r.order.Len() <= r.limit && now.Sub(m.asked) < r.life {
			return
		}
		r.take(m.key)
		if r.forgot != nil {
			r.forgot(m.value)
		}
	}
}

func (r *recent[K, V]) at(e *list.Element) *memory[K, V] {
	return e.Value.(*memory[K, V]) // nothing else is put in
}
