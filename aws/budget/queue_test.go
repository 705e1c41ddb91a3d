// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
)

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
