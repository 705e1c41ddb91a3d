// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
)

// Whatever the others ask for, and however many of them give up: a tenant's next call waits for one of each other tenant.
func TestQueueServesEachTenantInItsTurn(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 14))
		var q queue
		var waiting []*waiter
		passed := map[*waiter]map[string]int{} // how many calls of each other tenant went while this one was its tenant's next
		push := func(tenant string) {
			w := &waiter{tenant: tenant}
			q.push(w)
			waiting = append(waiting, w)
		}
		for range 2000 {
			switch n := random.IntN(10); {
			case n < 4:
				push("floods")
			case n == 4:
				push("rare " + strconv.Itoa(random.IntN(5)))
			case n == 5 && len(waiting) > 0:
				i := random.IntN(len(waiting))
				q.remove(waiting[i])
				waiting = slices.Delete(waiting, i, i+1)
			case n > 5 && q.len() > 0:
				got := q.next()
				q.serve(got)
				at := slices.Index(waiting, got)
				if slices.ContainsFunc(waiting[:at], func(w *waiter) bool { return w.tenant == got.tenant }) {
					t.Fatalf("seed %d: an older call of %s waits on", seed, got.tenant)
				}
				waiting = slices.Delete(waiting, at, at+1)
				checkTurns(t, passed, waiting, got.tenant)
			}
			if q.len() != len(waiting) {
				t.Fatalf("seed %d: %d wait, want %d", seed, q.len(), len(waiting))
			}
		}
		for range waiting {
			q.serve(q.next())
		}
		if q.turns.Len() != 0 || len(q.tenants) != 0 || q.len() != 0 {
			t.Errorf("seed %d: %d tenants are remembered in an empty queue", seed, q.turns.Len())
		}
	}
}

// checkTurns notes that a call of the tenant went before the first call of each other one.
func checkTurns(t *testing.T, passed map[*waiter]map[string]int, waiting []*waiter, tenant string) {
	t.Helper()
	first := map[string]bool{tenant: true}
	for _, w := range waiting {
		if first[w.tenant] {
			continue
		}
		first[w.tenant] = true
		if passed[w] == nil {
			passed[w] = map[string]int{}
		}
		if passed[w][tenant]++; passed[w][tenant] > 1 {
			t.Fatalf("%d calls of %q went before the next one of %q", passed[w][tenant], tenant, w.tenant)
		}
	}
}

// The whole way through the bucket: a tenant with ten thousand calls, and one with a few.
func TestBucketServesRareTenantBesideAFlood(t *testing.T) {
	for _, class := range []Class{ClassDeregister, ClassRegister, ClassAdmission, ClassWaitingHealth, ClassOther} {
		t.Run(class.String(), func(t *testing.T) {
			clk := testclock.NewFakeClock(time.Now())
			b := newBucket(Rule{Operations: regexp.MustCompile("."), Rate: 1, Burst: 1}, clk)
			b.tokens, b.admission = 0, 0
			for range 10_000 {
				b.enqueue(class.Now(), "floods")
			}
			for range 3 {
				rare := b.enqueue(class.Now(), "rare")
				if turns := serve(t, b, rare); turns > 2 {
					t.Errorf("served in turn %d of two tenants", turns)
				}
			}
		})
	}
}

// serve grants tokens one by one until w has one, and says how many that took.
func serve(t *testing.T, b *bucket, w *waiter) (turns int) {
	t.Helper()
	for ; turns < 20; turns++ {
		select {
		case <-w.granted:
			return turns
		default:
		}
		b.mu.Lock()
		b.tokens, b.admission, b.underWay = 1, 1, 0
		b.grant()
		b.mu.Unlock()
	}
	t.Fatal("not served in 20 turns")
	return 0
}

// Rule 9: neither lookups nor calls that nobody waits for keep health waiting, nor health them.
func TestBucketSharesBetweenClasses(t *testing.T) {
	tests := map[string]struct {
		floods map[Class]int // calls that stand in line at the start
		want   map[Class]int // served in the minute from 10 s on, at one call a second
	}{
		"health and lookups": {
			floods: map[Class]int{ClassWaitingHealth: 1000, ClassAdmission: 1000},
			want:   map[Class]int{ClassWaitingHealth: 48, ClassAdmission: 12},
		},
		"health and others": {
			floods: map[Class]int{ClassWaitingHealth: 1000, ClassOther: 1000},
			want:   map[Class]int{ClassWaitingHealth: 48, ClassOther: 12},
		},
		"all three": {
			floods: map[Class]int{ClassWaitingHealth: 1000, ClassAdmission: 1000, ClassOther: 1000},
			want:   map[Class]int{ClassWaitingHealth: 36, ClassAdmission: 12, ClassOther: 12},
		},
		"deregistrations wait for nobody": {
			floods: map[Class]int{ClassDeregister: 1000, ClassWaitingHealth: 1000, ClassAdmission: 1000, ClassOther: 1000},
			want:   map[Class]int{ClassDeregister: 60},
		},
		"registrations and what has failed": {
			floods: map[Class]int{ClassRegister: 1000, ClassOther: 1000},
			want:   map[Class]int{ClassRegister: 48, ClassOther: 12},
		},
		"nothing but lookups": {
			floods: map[Class]int{ClassAdmission: 1000},
			want:   map[Class]int{ClassAdmission: 12},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBucket(Rule{Operations: regexp.MustCompile("."), Rate: 1, Burst: 1}, clock.RealClock{})
				for class, calls := range tc.floods {
					for range calls {
						w := b.enqueue(class.Now(), "")
						go func() {
							<-w.granted
							b.settle(0)
						}()
					}
				}
				time.Sleep(patience + 10*time.Second)
				before := b.level().Waiting
				time.Sleep(time.Minute)
				after := b.level().Waiting
				got := map[Class]int{}
				for class := range classCount {
					if served := before[class] - after[class]; served > 0 {
						got[class] = served
					}
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("served in a minute (-want +got):\n%s", diff)
				}
				b.mu.Lock()
				defer b.mu.Unlock()
				for range tc.floods { // let the goroutines of the bubble end
					b.tokens, b.admission, b.underWay = 10_000, 10_000, 0
					for w, _ := b.next(); w != nil; w, _ = b.next() {
						b.take(w)
						close(w.granted)
					}
				}
			})
		})
	}
}

// What a call costs does not depend on how many wait.
func BenchmarkBucketWait(b *testing.B) {
	for name, waiting := range map[string]int{"10 wait": 10, "10000 wait": 10_000} {
		b.Run(name, func(b *testing.B) {
			clk := testclock.NewFakeClock(time.Now())
			bucket := newBucket(Rule{Operations: regexp.MustCompile("."), Rate: 1, Burst: 1}, clk)
			for i := range waiting {
				bucket.enqueue(ClassWaitingHealth.Now(), strconv.Itoa(i%100))
			}
			bucket.enqueue(ClassOther.Now(), "")
			for b.Loop() {
				bucket.abandon(bucket.enqueue(ClassRegister.Now(), "a"))
				_ = bucket.level()
			}
		})
	}
}
