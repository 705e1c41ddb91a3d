// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/smithy-go"

	"github.com/targetgate/targetgate/aws/awserr"
)

func TestSlotBackOffIsCappedAndCleared(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := Slot{MaxBackoff: MaxBackoff, Category: AWS}
	var longest time.Duration
	for range 20 {
		s.Start(true, s.RetryAt)
		s.End(noon, errors.New("no"))
		longest = max(longest, s.RetryAt.Sub(noon))
	}
	if longest > MaxBackoff || longest < MaxBackoff*4/5 {
		t.Errorf("longest back-off %s, want close to and at most %s", longest, MaxBackoff)
	}
	if retryIn, began := s.Start(true, noon); began || retryIn != s.RetryAt.Sub(noon) {
		t.Errorf("during the back-off a call has begun (%v), or the next may in %s", began, retryIn)
	}
	s.Start(true, s.RetryAt)
	s.End(noon, nil)
	if _, began := s.Start(true, noon); !began || s.Err != nil {
		t.Errorf("after a success: %+v, want a call begun and no error", s)
	}
}

// AWS's budget knows how fast calls may go that AWS throttles, and which of them first.
func TestSlotTriesSoonWhatAWSThrottles(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := Slot{MaxBackoff: MaxBackoff, Category: AWS}
	for range urgentTries + 5 {
		s.Start(true, s.RetryAt)
		s.End(noon, &smithy.GenericAPIError{Code: "Throttling"})
		if pause := s.RetryAt.Sub(noon); pause > firstBackoff || s.Hopeless() {
			t.Fatalf("after %d throttled calls the next may go in %s, hopeless %v, want at most %s", s.Throttled, pause, s.Hopeless(), firstBackoff)
		}
	}
	if s.Lasting() == nil {
		t.Error("throttled again and again, and nothing is said of that")
	}
	for range definiteTries {
		s.End(noon, errors.New("no"))
		if pause := s.RetryAt.Sub(noon); s.Hopeless() || pause > 2*firstBackoff {
			t.Errorf("after %d failures of another kind hopeless is %v, and the next may go in %s", s.Failures, s.Hopeless(), pause)
		}
	}
	s.End(noon, nil)
	if s.Lasting() != nil || s.Throttled != 0 {
		t.Errorf("after a success: %+v", s)
	}
}

// No budget slows down for AssumeRole.
func TestSlotBacksOffWhereItsRoleIsThrottled(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := Slot{MaxBackoff: MaxBackoff, Category: AWS}
	for range urgentTries {
		s.End(noon, &awserr.RoleError{Err: &smithy.GenericAPIError{Code: "Throttling"}})
	}
	if pause := s.RetryAt.Sub(noon); pause < MaxBackoff*4/5 || !s.Hopeless() {
		t.Errorf("the next may go in %s, hopeless %v, want a back-off", pause, s.Hopeless())
	}
}
