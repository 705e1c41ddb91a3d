// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package writes

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestQueueMakesSoManyWritesAtOnceInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		begun, goOn := make(chan int, 5), make(chan struct{})
		q := NewQueue[int](2)
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
		q := NewQueue[string](2)
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
