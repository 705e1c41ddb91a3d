// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingresses

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// countingReader counts lists, each of which takes a while.
type countingReader struct {
	client.Reader
	lists atomic.Int64
}

func (r *countingReader) List(context.Context, client.ObjectList, ...client.ListOption) error {
	r.lists.Add(1)
	time.Sleep(10 * time.Millisecond)
	return nil
}

// Ingresses of classes that do not exist, 100 a second: one list a second, and each is answered after a list that began after it came.
func TestUnknownClassesCostOneListASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := &countingReader{}
		live := &liveClasses{reader: reader}
		var reviews sync.WaitGroup
		for range 1000 {
			before := reader.lists.Load()
			reviews.Go(func() {
				if _, err := live.list(t.Context()); err != nil || reader.lists.Load() == before {
					t.Errorf("answered after %d of %d lists, %v", reader.lists.Load(), before, err)
				}
			})
			time.Sleep(10 * time.Millisecond)
		}
		reviews.Wait()
		if n := reader.lists.Load(); n > 12 {
			t.Errorf("%d lists in 10 s, want at most one a second", n)
		}
	})
}
