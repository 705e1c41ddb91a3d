// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package writes

import (
	"container/list"
	"sync"
)

// shares holds the keys that wait in a queue. Next is a key of the namespace that has the fewest writes under way. So a namespace alone
// takes all places; where several want them each gets its share, also beside one whose writes take long, as its admission webhook does not
// answer. client-go's own workqueue.Queue is first in, first out, and knows no namespaces. Each operation takes time in proportion to the
// places, at most. Under the lock no other is taken.
type shares[K comparable] struct {
	namespaceOf func(K) string

	mu         sync.Mutex
	namespaces map[string]*share[K]
	waiting    []list.List // of *share that have keys, by how many of their writes are under way
	length     int
}

// share is what one namespace has waiting or under way.
type share[K comparable] struct {
	name     string
	keys     []K
	underWay int
	at       *list.Element // in shares.waiting, nil while there is no key
}

func newShares[K comparable](places int, namespaceOf func(K) string) *shares[K] {
	return &shares[K]{namespaceOf: namespaceOf, namespaces: map[string]*share[K]{}, waiting: make([]list.List, places+1)}
}

// Touch, Push, Len and Pop implement workqueue.Queue.
func (s *shares[K]) Touch(K) {}

func (s *shares[K]) Push(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := s.namespaceOf(key)
	of, known := s.namespaces[name]
	if !known {
		of = &share[K]{name: name}
		s.namespaces[name] = of
	}
	of.keys = append(of.keys, key)
	s.length++
	if of.at == nil {
		s.enter(of)
	}
}

func (s *shares[K]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.length
}

func (s *shares[K]) lengthOf(namespace string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of, known := s.namespaces[namespace]; known {
		return len(of.keys)
	}
	return 0
}

func (s *shares[K]) Pop() K {
	s.mu.Lock()
	defer s.mu.Unlock()
	fewest := 0
	for s.waiting[fewest].Len() == 0 {
		fewest++
	}
	of := s.waiting[fewest].Front().Value.(*share[K]) // nothing else is put in
	s.leave(of)
	key := of.keys[0]
	of.keys = of.keys[1:]
	of.underWay++
	s.length--
	if len(of.keys) > 0 {
		s.enter(of)
	}
	return key
}

// done takes the end of a write.
func (s *shares[K]) done(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.namespaces[s.namespaceOf(key)]
	waits := of.at != nil
	if waits {
		s.leave(of)
	}
	of.underWay--
	switch {
	case waits:
		s.enter(of)
	case of.underWay == 0:
		delete(s.namespaces, of.name)
	}
}

// enter has the namespace wait behind those with as many writes under way. The caller holds the lock.
func (s *shares[K]) enter(of *share[K]) { of.at = s.waiting[of.underWay].PushBack(of) }

// leave takes it out. The caller holds the lock.
func (s *shares[K]) leave(of *share[K]) {
	s.waiting[of.underWay].Remove(of.at)
	of.at = nil
}
