// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/budget"
)

func TestMissesAreRememberedForGrowingTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &fakeEC2{}
		l := &Locator{ec2: fake, vpc: inVPC, clock: clock.RealClock{}}
		lost := []Member{podOn(2, "lost")}
		find := func() error { return l.Locate(t.Context(), budget.ClassRegister, lost, time.Minute)[0].Err }
		for range 600 {
			if find() == nil {
				t.Error("a pod on an unknown instance is found")
			}
			time.Sleep(time.Second)
		}
		if n := fake.count("Instances"); n < 12 || n > 24 {
			t.Errorf("%d calls in 10 minutes, want some 15", n)
		}
		before := fake.count("Instances")
		lost[0].BranchENI = "eni-0b" // its annotation has come
		fake.interfaces = append(fake.interfaces, eni("eni-0b", "10.0.2.7"))
		if err := find(); err != nil || fake.count("Instances") != before {
			t.Errorf("looked for in another way: %v", err)
		}
	})
}

func TestMissesOfAReadThatFailedAreNotRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &fakeEC2{}
		fake.err = apiError("RequestLimitExceeded")
		l := &Locator{ec2: fake, vpc: inVPC, clock: clock.RealClock{}}
		fake.node(1, "sg-a")
		find := func() error {
			return l.Locate(t.Context(), budget.ClassRegister, []Member{podOn(1, "web")}, time.Minute)[0].Err
		}
		if find() == nil {
			t.Error("found without an answer")
		}
		fake.err = nil
		if err := find(); err != nil {
			t.Errorf("after the failure: %v", err)
		}
	})
}

func TestMemoryOfMembersIsBounded(t *testing.T) {
	since := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	l := &Locator{clock: clock.RealClock{}}
	members, places := make([]Member, maxCached+10), make([]Place, maxCached+10)
	at := make([]int, len(members))
	for n := range members {
		members[n].UID, places[n].Err, at[n] = types.UID(fmt.Sprint(n)), errors.New("no such pod"), n
	}
	l.remember(members, places, at, since)
	if len(l.cache) != maxCached {
		t.Errorf("%d are remembered, want %d", len(l.cache), maxCached)
	}
	l.remember(members[:1], places[:1], at[:1], since.Add(time.Second))
	if got := l.cache["0"].misses; got != 2 {
		t.Errorf("%d misses of one that is remembered already, want 2", got)
	}
	l.remember([]Member{{UID: "later"}}, places[:1], at[:1], since.Add(maxCacheAge))
	if _, ok := l.cache["later"]; !ok {
		t.Error("old ones make no room")
	}
}

func TestPlacesAreRememberedForATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &fakeEC2{}
		fake.node(1, "sg-a")
		l := &Locator{ec2: fake, vpc: inVPC, clock: clock.RealClock{}}
		find := func(maxAge time.Duration) string {
			places := l.Locate(t.Context(), budget.ClassRegister, []Member{podOn(1, "web"), podOn(2, "lost")}, maxAge)
			if places[1].Err == nil {
				t.Error("a pod on an unknown instance is found")
			}
			return places[0].Group
		}
		find(time.Minute)
		fake.node(1, "sg-b")
		if got := find(time.Minute); got != "sg-a" {
			t.Errorf("within the time: %s, want sg-a", got)
		}
		time.Sleep(time.Minute)
		if got := find(time.Minute); got != "sg-b" {
			t.Errorf("after the time: %s, want sg-b", got)
		}
	})
}
