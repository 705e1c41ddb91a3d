// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"cmp"
	"context"
	"regexp"
	"sync"
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
		ctx := WithCharge(context.Background(), Charge{Budget: o.budget}.At(u))
		token, err := o.budget.Take(ctx, ELBv2, "Any")
		err = cmp.Or(err, o.answer())
		o.budget.notice(ELBv2, "Any", err)
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
