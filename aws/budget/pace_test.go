// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"math"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

func TestPaceHalvesOnceABurstAndNeverBelowItsFloor(t *testing.T) {
	now := time.Now()
	p := pace{full: 4, rate: 4}
	for range 10 {
		p.halve(now)
		now = now.Add(99 * time.Millisecond)
	}
	if p.rate != 2 {
		t.Errorf("rate %g after ten throttled answers within a second, want it halved once to 2", p.rate)
	}
	for _, want := range []float64{1, 1, 1} {
		now = now.Add(oneBurst)
		if p.halve(now); p.rate != want {
			t.Errorf("rate %g after one more burst, want %g", p.rate, want)
		}
	}
}

func TestPaceGrowsEvenlyToItsFullRateWithinRecovery(t *testing.T) {
	p := pace{full: 4, rate: 1}
	last := p.rate
	for second := range 60 {
		p.advance(time.Second)
		wantStep := 0.1
		if second >= 30 {
			wantStep = 0
		}
		if step := p.rate - last; math.Abs(step-wantStep) > 1e-9 {
			t.Errorf("rate grew by %g in second %d, want %g", step, second+1, wantStep)
		}
		if last = p.rate; p.rate > p.full {
			t.Errorf("rate %g is above the configured %g", p.rate, p.full)
		}
	}
	if p.rate != p.full {
		t.Errorf("rate %g in the end, want %g", p.rate, p.full)
	}
}

// Slow rules keep more of their rate: pods wait for their calls.
func TestPaceKeepsSomeOfItsRate(t *testing.T) {
	for full, want := range map[float64]float64{0.5: 0.125, 3: 0.75, 4: 1, 5: 1, 10: 1, 25: 2.5, 100: 10} {
		if p := (pace{full: full}); p.lowest() != want {
			t.Errorf("of %g calls a second %g stay, want %g", full, p.lowest(), want)
		}
	}
}

// What AWS throttles while it throttles everything says nothing of the time after.
func TestPaceDoublesWhenCallsAreAcceptedAgain(t *testing.T) {
	now := time.Now()
	p := pace{full: 32, rate: 32}
	for range 10 {
		p.halve(now)
		now = now.Add(oneBurst)
	}
	for _, want := range []float64{6.4, 12.8, 16, 16} {
		if p.accept(now); p.rate != want {
			t.Errorf("rate %g after one more call was accepted, want %g: half of the rate of before at most", p.rate, want)
		}
	}
	p.advance(time.Second)
	if p.halve(now); p.rate >= 9 {
		t.Fatalf("rate %g after a throttled call, want half", p.rate)
	}
	before := p.rate
	if p.accept(now.Add(oneBurst)); p.rate != before {
		t.Errorf("rate %g after a call was accepted, want %g still: AWS throttles some and accepts some", p.rate, before)
	}
}

// Answers to calls that went before the throttled one say nothing.
func TestPaceIgnoresWhatIsAcceptedInTheBurstThatWasThrottled(t *testing.T) {
	now := time.Now()
	p := pace{full: 32, rate: 32}
	p.halve(now)
	p.accept(now.Add(oneBurst / 2))
	p.halve(now.Add(oneBurst))
	p.accept(now.Add(2 * oneBurst))
	if p.rate != 16 {
		t.Errorf("rate %g after a call was accepted, want 16: half of the rate before all of them were throttled", p.rate)
	}
}

// What was throttled an hour ago says nothing, although no call has been made since.
func TestPaceForgetsThatCallsWereRefused(t *testing.T) {
	now := time.Now()
	p := pace{full: 4, rate: 4}
	p.halve(now)
	p.accept(now.Add(oneBurst / 2))
	if p.advance(recovery / 2); !p.refused {
		t.Error("forgotten before the rate has recovered")
	}
	if p.advance(time.Hour); p.refused {
		t.Error("calls count as refused after an hour")
	}
	p.halve(now.Add(time.Hour))
	if p.trusted != 2 {
		t.Errorf("calls are trusted up to a rate of %g, want half of the full one", p.trusted)
	}
}

// While AWS accepts nothing, deregistrations reckon with the rate of the moment, and go before registrations sooner.
func TestPaceForeseesNoRiseWhileCallsAreThrottled(t *testing.T) {
	now := time.Now()
	p := pace{full: 4, rate: 4}
	p.halve(now)
	if got := p.sure(10 * time.Second); got != 20 {
		t.Errorf("%g tokens are sure in 10 s, want 20 at 2 a second", got)
	}
	p.accept(now.Add(oneBurst))
	if got := p.sure(10 * time.Second); got <= 20 || p.rate != 2 {
		t.Errorf("%g tokens are sure in 10 s with a rate of %g, want more than 20: it rises", got, p.rate)
	}
}

// The timer is set for the moment at which advance says that the token is there.
func TestPaceForeseesItsTokens(t *testing.T) {
	for _, rate := range []float64{1, 2, 3.9, 4} {
		for _, tokens := range []float64{0.001, 0.5, 1, 20, 100, 1000} {
			p := pace{full: 4, rate: rate}
			after := p.until(tokens)
			if got := p.advance(after); math.Abs(got-tokens) > 1e-6 {
				t.Errorf("from rate %g, %g tokens foreseen after %s, but %g came in", rate, tokens, after, got)
			}
		}
	}
}

// The clock is injected: no time passes but what the test lets pass.
func TestBucketRecoversByItsClock(t *testing.T) {
	clk := testclock.NewFakeClock(time.Now())
	b := newBucket(Rule{Operations: regexp.MustCompile("."), Rate: 4, Burst: 20}, clk)
	for range 10 {
		b.throttled()
		clk.Step(50 * time.Millisecond)
	}
	if l := b.level(); l.Rate < 2 || l.Rate > 2.1 || l.Tokens > 1.1 {
		t.Errorf("%g tokens at %g a second half a second after ten throttled answers, want about 1 at 2", l.Tokens, l.Rate)
	}
	for range 10 {
		clk.Step(oneBurst)
		b.throttled()
	}
	lowest := b.level().Rate
	if lowest < 1 || lowest > 1.2 {
		t.Errorf("rate %g while every call is throttled, want about one", lowest)
	}
	clk.Step(recovery)
	if l := b.level(); l.Rate != 4 || l.Tokens != 20 {
		t.Errorf("%g tokens at %g a second after %s, want 20 at 4", l.Tokens, l.Rate, recovery)
	}
}

func TestBucketServesWaitersAtTheRateOfTheMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := oneAtATime()
		b := budget.buckets[0]
		_ = spend(t.Context(), budget, "First")
		start := time.Now()
		waited := func() time.Duration { return time.Since(start).Round(10 * time.Millisecond) }

		served := make(chan time.Duration)
		for range 3 {
			go func() {
				_ = spend(context.Background(), budget, "Any")
				served <- waited()
			}()
		}
		synctest.Wait() // the first is due after 1 s
		time.Sleep(900 * time.Millisecond)
		b.throttled() // and now, at half the rate and without the 0.9 tokens, after 2 s more, less what the rate grows
		var got []time.Duration
		for range 3 {
			got = append(got, <-served)
		}
		if got[0] < 2700*time.Millisecond || got[0] > 2900*time.Millisecond {
			t.Errorf("the first waited %s, want somewhat less than 900 ms and 2 s", got[0])
		}
		first, second := got[1]-got[0], got[2]-got[1]
		if second <= time.Second || first <= second || first >= 2*time.Second {
			t.Errorf("the next came %s and %s later, want ever less, between 2 s and 1 s", first, second)
		}
	})
}

func TestBucketKeepsOrderOfClassesWhenThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := oneAtATime()
		_ = spend(t.Context(), budget, "First")
		served := make(chan Class)
		for _, class := range []Class{ClassOther, ClassRegister, ClassDeregister} {
			go func() {
				_ = spend(WithCharge(context.Background(), Charge{Urgency: class.Now()}), budget, "Any")
				served <- class
			}()
			synctest.Wait()
			budget.buckets[0].throttled()
		}
		for _, want := range []Class{ClassDeregister, ClassRegister, ClassOther} {
			if got := <-served; got != want {
				t.Errorf("served %s, want %s", got, want)
			}
		}
	})
}
