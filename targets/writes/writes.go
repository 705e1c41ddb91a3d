// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package writes

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
)

// How many writes are made at once. Most capacity goes to writes that open gates. Progress messages get two, so that a gate usually
// opens before its message is sent, and the message is dropped.
const (
	Gates    = 128
	Progress = 2
	Statuses = 16
	Orphans  = 8 // to pods of bindings that do not exist
	Events   = 8
	Guards   = 8 // to pods of node guards
)

const (
	// Timeout bounds one write.
	Timeout = 5 * time.Second
	// ClaimTimeout bounds the writes of one claim. The API server gives a request up after as long.
	ClaimTimeout = time.Minute
	// RetryPause is the pause after a write that failed.
	RetryPause = 2 * time.Second
	// ConflictPause is the pause after a write that came too late: the cache has yet to show what it missed.
	ConflictPause = 200 * time.Millisecond
)

// Queue makes writes, some at a time and one at a time for each key: those of a namespace in the order in which their keys were added, and
// first those of the namespace that has the fewest under way. A key that is queued is not queued again; one that is added during its write
// is written once more. What to write is with the owner of the queue.
type Queue[K comparable] struct {
	keys   workqueue.TypedInterface[K]
	shares *shares[K]
	limit  int
}

// NewQueue returns a queue that makes at most limit writes at once, and none before Start. The namespace of a key is always the same.
func NewQueue[K comparable](limit int, namespaceOf func(K) string) *Queue[K] {
	s := newShares(limit, namespaceOf)
	return &Queue[K]{keys: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[K]{Queue: s}), shares: s, limit: limit}
}

// Start has write called for each key until ctx ends.
func (q *Queue[K]) Start(ctx context.Context, write func(context.Context, K)) {
	context.AfterFunc(ctx, q.keys.ShutDown)
	for range q.limit {
		go func() {
			for {
				key, shutdown := q.keys.Get()
				if shutdown {
					return
				}
				if ctx.Err() == nil {
					write(ctx, key)
				}
				q.shares.done(key)
				q.keys.Done(key)
			}
		}()
	}
}

// Add has the key's write made when its turn comes.
func (q *Queue[K]) Add(key K) { q.keys.Add(key) }

// Len is how many keys wait, but for those that were added during their write.
func (q *Queue[K]) Len() int { return q.shares.Len() }

// LenOf is Len of a namespace.
func (q *Queue[K]) LenOf(namespace string) int { return q.shares.lengthOf(namespace) }

// AddAfter is Add after a pause.
func (q *Queue[K]) AddAfter(key K, pause time.Duration) {
	time.AfterFunc(pause, func() { q.keys.Add(key) })
}

// IsFinal reports whether the API server will never take what it has refused.
func IsFinal(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code/100 == 4 && code != http.StatusTooManyRequests && code != http.StatusUnauthorized
}

// IsLasting reports whether the API server has answered, and may always answer so: that the pod is as large as an object can be,
// for one.
func IsLasting(err error) bool {
	var status apierrors.APIStatus
	return IsFinal(err) || errors.As(err, &status) && status.Status().Code == http.StatusInternalServerError
}
