// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"
	"k8s.io/utils/clock"
)

// outage is an AWS that throttles all calls for a while, and counts them.
type outage struct {
	budget   *Budget
	from, to time.Time

	mu       sync.Mutex
	refused  []time.Time
	accepted []time.Time
}

// call makes a call until it is accepted, as a target group does.
func (o *outage) call(u Urgency) {
	for {
		ctx := WithCharge(context.Background(), Charge{Budget: o.budget, Urgency: u})
		token, err := o.budget.Take(ctx, ELBv2, "Any")
		err = cmp.Or(err, o.answer())
		o.budget.observe(ELBv2, "Any", err)
		token.Answered()
		if err == nil {
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
}

func (o *outage) answer() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if !now.Before(o.from) && now.Before(o.to) {
		o.refused = append(o.refused, now)
		return &smithy.GenericAPIError{Code: "Throttling"}
	}
	o.accepted = append(o.accepted, now)
	return nil
}

// AWS throttles every call for a minute in the middle of a rush. What leaves within seconds after that is in time: the end of it is found
// out within a second, and the calls that are made then do not follow each other as slowly as those before.
func TestDeregistrationsAreInTimeRightAfterAWSThrottledAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		aws := &outage{from: start.Add(10 * time.Second), to: start.Add(70 * time.Second)}
		aws.budget = New("", []Rule{{Operations: regexp.MustCompile("."), Rate: 4, Burst: 20}}, clock.RealClock{})
		for range 200 {
			go aws.call(ClassRegister.Now())
		}
		for i := range 12 {
			deadline := aws.to.Add(5*time.Second + time.Duration(i)*200*time.Millisecond)
			go func() {
				time.Sleep(20 * time.Second)
				aws.call(Urgency{Class: ClassDeregister, Deadline: deadline})
				if late := time.Since(deadline); late > 0 {
					t.Errorf("late by %s", late)
				}
			}()
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if n := len(aws.accepted); n != 212 {
			t.Errorf("%d calls were accepted, want all", n)
		}
		for i, at := range aws.refused[2:] {
			if pause := at.Sub(aws.refused[i+1]); pause > 1100*time.Millisecond {
				t.Errorf("a pause of %s between calls that were throttled, want about a second", pause)
			}
		}
		if n := len(aws.refused); n > 70 {
			t.Errorf("%d calls were throttled in a minute, want about one a second", n)
		}
	})
}

// One call is due long before many others, of which no one knows yet whether they press.
func TestTheFirstDeadlineIsKeptBesideManyLaterOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBucket(Rule{Operations: regexp.MustCompile("."), Rate: 4, Burst: 20}, clock.RealClock{})
		for range 3 {
			b.throttled()
			time.Sleep(oneBurst)
		}
		b.accepted()
		time.Sleep(time.Second)
		now := time.Now()
		var all sync.WaitGroup
		wait := func(deadline time.Time) time.Time {
			token, _ := b.wait(context.Background(), Urgency{Class: ClassDeregister, Deadline: deadline, Waits: true}, "")
			defer token.Answered()
			return time.Now()
		}
		for range 60 {
			all.Go(func() { wait(now.Add(20 * time.Second)) })
		}
		synctest.Wait()
		const due = 300 * time.Millisecond
		if sent := wait(now.Add(due + CallTime)); sent.Sub(now) > due+2*time.Millisecond {
			t.Errorf("sent after %s, want %s before its deadline", sent.Sub(now), CallTime)
		}
		all.Wait()
	})
}

// Calls that wait are made in time also while the rate recovers, however many are due together.
func TestManyDeregistrationsThatWaitBeginInTimeWhileTheRateRecovers(t *testing.T) {
	for _, recovers := range []time.Duration{0, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 25 * time.Second} {
		for _, count := range []int{1, 10, 20, 25, 35, 40, 50} {
			t.Run(fmt.Sprintf("%d after %s", count, recovers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBucket(Rule{Operations: regexp.MustCompile("."), Rate: 4, Burst: 20}, clock.RealClock{})
					b.throttled()
					time.Sleep(oneBurst)
					b.accepted()
					time.Sleep(recovers)
					tokens := b.level().Tokens
					pace := b.pace
					var late atomic.Int64
					deadline := time.Now().Add(9500 * time.Millisecond)
					possible := int(tokens + pace.advance(9*time.Second))
					var answered sync.WaitGroup
					for range count {
						answered.Go(func() {
							token, _ := b.wait(context.Background(), Urgency{Class: ClassDeregister, Deadline: deadline, Waits: true}, "")
							if time.Now().After(deadline) {
								late.Add(1)
							}
							token.Answered()
						})
						time.Sleep(800 * time.Millisecond / time.Duration(count))
					}
					answered.Wait()
					if most := max(0, count-possible+1); late.Load() > int64(most) { // one less for the part of a token that is left
						t.Errorf("%d of %d are late, want at most %d", late.Load(), count, most)
					}
				})
			})
		}
	}
}
