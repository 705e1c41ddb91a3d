// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package beside

import (
	"sync"
	"time"
)

// FenceDelay is how long a namespace is seen with the label before a binding there is taken: API servers learn of a new policy, and
// of a label, within a second or two, each for itself. It is a pause and no question, as none of them answers for the others, and
// asking as the incumbent would need the right to impersonate it.
const FenceDelay = 10 * time.Second

// fences knows since when namespaces have the label, as this process has seen them. Safe for concurrent use.
type fences struct {
	mu    sync.Mutex
	since map[string]time.Time
}

func (f *fences) see(namespace string, registered bool, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !registered {
		delete(f.since, namespace)
		return
	}
	if f.since == nil {
		f.since = map[string]time.Time{}
	}
	if _, known := f.since[namespace]; !known {
		f.since[namespace] = now
	}
}

// wait is how long it is until every API server must know the label of a namespace that was seen.
func (f *fences) wait(namespace string, now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.since[namespace].Add(FenceDelay).Sub(now)
}
