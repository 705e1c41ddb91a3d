// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"fmt"
	"maps"
	"sync"
	"time"
)

// refusedFor is how long a refusal holds for all records of its namespace. By default we have no right to ConfigMaps at all, and each pass
// over each binding of a shared group would ask the API server.
const refusedFor = 5 * time.Second

// refusals remembers in which namespaces we may not read ConfigMaps. Not for all at once, as the right may be granted for some only. Safe
// for concurrent use; the zero value knows of none.
type refusals struct {
	mu          sync.Mutex
	byNamespace map[string]refusal
}

type refusal struct {
	err error
	at  time.Time
}

func (r refusal) isOver(now time.Time) bool { return now.Sub(r.at) >= refusedFor }

// of is the refusal that holds in the namespace, nil when there is none.
func (r *refusals) of(namespace string, now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, there := r.byNamespace[namespace]
	if !there || last.isOver(now) {
		return nil
	}
	return fmt.Errorf("asked less than %s ago for this record or another one of the namespace: %w", refusedFor, last.err)
}

func (r *refusals) add(namespace string, err error, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byNamespace == nil {
		r.byNamespace = map[string]refusal{}
	}
	maps.DeleteFunc(r.byNamespace, func(_ string, last refusal) bool { return last.isOver(now) })
	r.byNamespace[namespace] = refusal{err, now}
}
