// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

func TestLineMakesSoManyWritesAtATimeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(2)
		begun, goOn := make(chan int, 6), make(chan struct{})
		for i := range 5 {
			l.put(func() {
				begun <- i
				<-goOn
			})
		}
		for ended := range 5 {
			synctest.Wait()
			if n, want := len(begun), min(ended+2, 5); n != want {
				t.Errorf("%d writes have begun, want %d", n, want)
			}
			goOn <- struct{}{}
		}
		synctest.Wait()
		if l.running != 0 {
			t.Errorf("%d goroutines are left", l.running)
		}
		l.put(func() { begun <- 5 })
		var order []int
		for range 6 {
			order = append(order, <-begun)
		}
		if order[0] == 1 {
			order[0], order[1] = order[1], order[0] // these two begin together
		}
		if diff := cmp.Diff([]int{0, 1, 2, 3, 4, 5}, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}
