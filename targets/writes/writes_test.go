// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package writes

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// together is for keys of one namespace.
func together[K comparable](K) string { return "" }

func TestQueueMakesSoManyWritesAtOnceInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		begun, goOn := make(chan int, 5), make(chan struct{})
		q := NewQueue(2, together[int])
		for i := range 5 {
			q.Add(i)
			q.Add(i) // is queued already
		}
		q.Start(ctx, func(_ context.Context, i int) {
			begun <- i
			<-goOn
		})
		for ended := range 5 {
			synctest.Wait()
			if n, want := len(begun), min(ended+2, 5); n != want {
				t.Errorf("%d writes have begun, want %d", n, want)
			}
			goOn <- struct{}{}
		}
		synctest.Wait()
		var order []int
		for len(begun) > 0 {
			order = append(order, <-begun)
		}
		if len(order) > 1 && order[0] == 1 {
			order[0], order[1] = order[1], order[0] // these two begin together
		}
		if diff := cmp.Diff([]int{0, 1, 2, 3, 4}, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

func TestQueueWritesAKeyOnceMoreThatIsAddedDuringItsWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		begun, goOn := 0, make(chan struct{})
		q := NewQueue(2, together[string])
		q.Start(ctx, func(context.Context, string) {
			begun++
			<-goOn
		})
		q.AddAfter("web", time.Second)
		time.Sleep(time.Second)
		synctest.Wait()
		q.Add("web")
		q.Add("web")
		synctest.Wait()
		if begun != 1 {
			t.Errorf("%d writes of one key have begun, want 1 at a time", begun)
		}
		goOn <- struct{}{}
		synctest.Wait()
		if begun != 2 {
			t.Errorf("%d writes have begun, want 2", begun)
		}
		close(goOn)
	})
}

// Writes of one namespace that hang have all places while nobody else wants one, and no more of them than others when somebody does.
func TestHangingWritesKeepNoPlacesFromOtherNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		const places = 4
		var hanging, written atomic.Int32
		end := make(chan struct{})
		q := NewQueue(places, func(i int) string { return map[bool]string{true: "slow", false: "shop"}[i < 100] })
		q.Start(ctx, func(_ context.Context, i int) {
			if i >= 100 {
				written.Add(1)
				return
			}
			hanging.Add(1)
			<-end
			hanging.Add(-1)
		})
		for i := range 20 {
			q.Add(i)
		}
		synctest.Wait()
		if n := hanging.Load(); n != places {
			t.Errorf("%d writes of a namespace alone are under way, want %d", n, places)
		}
		for i := range 50 {
			q.Add(100 + i)
		}
		end <- struct{}{}
		synctest.Wait()
		if made, hang := written.Load(), hanging.Load(); made != 50 || hang != places {
			t.Errorf("%d of 50 writes of another namespace were made when one that hung had ended, and %d of %d hang", made, hang, places)
		}
		close(end)
	})
}
