// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"context"
	"sync"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

type flightKey struct {
	group  string
	target state.Key
}

// flights are the requests and connections under way, by target.
type flights struct {
	mu       sync.Mutex
	next     int
	byTarget map[flightKey]map[int]context.CancelFunc
}

// add notes a flight that cancel ends; landed must be called when it is over.
func (f *flights) add(key flightKey, cancel context.CancelFunc) (landed func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next++
	id := f.next
	if f.byTarget[key] == nil {
		f.byTarget[key] = map[int]context.CancelFunc{}
	}
	f.byTarget[key][id] = cancel
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.byTarget[key], id)
		if len(f.byTarget[key]) == 0 {
			delete(f.byTarget, key)
		}
	}
}

// cut ends all flights to a target.
func (f *flights) cut(key flightKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, cancel := range f.byTarget[key] {
		cancel()
	}
}
