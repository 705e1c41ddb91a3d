// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package writes

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

type sharedKey struct {
	namespace string
	number    int
}

// sharesModel is what shares must hold.
type sharesModel struct {
	t        *testing.T
	shares   *shares[sharedKey]
	waiting  map[string][]sharedKey
	underWay map[string][]sharedKey
	pushed   int
}

func (m *sharesModel) push(namespace string) {
	m.pushed++
	key := sharedKey{namespace, m.pushed}
	m.waiting[namespace] = append(m.waiting[namespace], key)
	m.shares.Push(key)
}

// pop checks that the key is its namespace's first, and that no other has fewer writes under way.
func (m *sharesModel) pop() {
	m.t.Helper()
	key := m.shares.Pop()
	if line := m.waiting[key.namespace]; len(line) == 0 || line[0] != key {
		m.t.Fatalf("got %v, which is not the first of %v", key, line)
	}
	for namespace, line := range m.waiting {
		if len(line) > 0 && len(m.underWay[namespace]) < len(m.underWay[key.namespace]) {
			m.t.Fatalf("got a key of %s with %d under way before one of %s with %d", key.namespace, len(m.underWay[key.namespace]),
				namespace, len(m.underWay[namespace]))
		}
	}
	m.waiting[key.namespace] = m.waiting[key.namespace][1:]
	m.underWay[key.namespace] = append(m.underWay[key.namespace], key)
}

func (m *sharesModel) done() {
	for namespace, keys := range m.underWay {
		if len(keys) > 0 {
			m.underWay[namespace] = keys[1:]
			m.shares.done(keys[0])
			return
		}
	}
}

func (m *sharesModel) count() (waiting, underWay int) {
	for _, keys := range m.waiting {
		waiting += len(keys)
	}
	for _, keys := range m.underWay {
		underWay += len(keys)
	}
	return waiting, underWay
}

// Whatever waits and however long it takes: next is the namespace that has the fewest places, and what is over is forgotten.
func TestNamespaceWithTheFewestWritesUnderWayIsNext(t *testing.T) {
	const places = 8
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 49))
		m := &sharesModel{
			t: t, waiting: map[string][]sharedKey{}, underWay: map[string][]sharedKey{},
			shares: newShares(places, func(k sharedKey) string { return k.namespace }),
		}
		for step := 0; ; step++ {
			waiting, underWay := m.count()
			if got := m.shares.Len(); got != waiting {
				t.Fatalf("%d keys wait, want %d", got, waiting)
			}
			switch n := random.IntN(6); {
			case step < 2000 && n < 2:
				m.push(strconv.Itoa(random.IntN(4)))
			case waiting > 0 && underWay < places && n < 5:
				m.pop()
			case underWay > 0:
				m.done()
			}
			if step > 2000 && waiting+underWay == 0 {
				break
			}
		}
		if n := len(m.shares.namespaces); n > 0 {
			t.Errorf("%d namespaces are remembered that want nothing", n)
		}
	}
}
