// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// job is a call of a generated history.
type job struct {
	comes, deadline time.Duration // since the start
	class           Class
	tenant          string
	waits           bool

	answered time.Duration
}

func (j *job) String() string {
	return fmt.Sprintf("%s of %q from %s, deadline %s, answered %s", j.class, j.tenant, j.comes, j.deadline, j.answered)
}

// late reports whether the job was answered after its deadline.
func (j *job) late() bool { return j.answered > j.deadline }

// pastDue reports whether the job was sent too late for an answer that takes CallTime. The bucket's timers add a millisecond.
func (j *job) pastDue() bool { return j.answered > j.deadline-CallTime+time.Millisecond }

// run has a bucket serve the jobs, each answered at once.
func run(t *testing.T, rule Rule, jobs []*job) {
	t.Helper()
	rule.Operations = regexp.MustCompile(".")
	synctest.Test(t, func(t *testing.T) {
		b := newBucket(rule, clock.RealClock{})
		start := time.Now()
		for _, j := range jobs {
			go func() {
				time.Sleep(j.comes)
				token, err := b.wait(t.Context(), Urgency{j.class, start.Add(j.deadline), j.waits}, j.tenant)
				if err != nil {
					t.Error(err)
				}
				j.answered = time.Since(start)
				token.Answered()
			}()
		}
		time.Sleep(24 * time.Hour)
		synctest.Wait()
	})
}

// feasible reports whether some order answers all jobs in time: if one does, so does serving by deadline, a call at a time. A call has
// to be sent CallTime before its deadline, and a token to spare: it may come a moment after one has gone.
func feasible(rule Rule, jobs []*job) bool {
	spare := time.Duration(1 / rule.Rate * float64(time.Second))
	left := slices.SortedFunc(slices.Values(jobs), func(a, b *job) int { return cmp.Compare(a.comes, b.comes) })
	tokens, at := float64(rule.Burst), time.Duration(0)
	var waiting []*job
	advance := func(to time.Duration) {
		tokens, at = min(float64(rule.Burst), tokens+rule.Rate*(to-at).Seconds()), to
	}
	for len(left)+len(waiting) > 0 {
		for len(left) > 0 && left[0].comes <= at {
			waiting, left = append(waiting, left[0]), left[1:]
		}
		switch {
		case len(waiting) == 0:
			advance(left[0].comes)
		case tokens < 1:
			need := at + time.Duration((1-tokens)/rule.Rate*float64(time.Second))
			if len(left) > 0 {
				need = min(need, left[0].comes)
			}
			advance(max(need, at+1))
		default:
			slices.SortFunc(waiting, func(a, b *job) int { return cmp.Compare(a.deadline, b.deadline) })
			if at > waiting[0].deadline-CallTime-spare {
				return false
			}
			tokens--
			waiting = waiting[1:]
		}
	}
	return true
}

// generated are some jobs, in bursts, with deadlines that are tight for the rule.
func generated(random *rand.Rand, rule Rule) []*job {
	var jobs []*job
	at := time.Duration(0)
	for range 1 + random.IntN(4) {
		at += time.Duration(random.ExpFloat64() * float64(8*time.Second))
		for range 1 + random.IntN(2*rule.Burst+6) {
			comes := at + time.Duration(random.Int64N(int64(3*time.Second)))
			jobs = append(jobs, &job{
				comes: comes, deadline: comes + CallTime + 100*time.Millisecond + time.Duration(random.ExpFloat64()*float64(8*time.Second)),
				class: Class(random.IntN(int(lineCount))), tenant: string(rune('a' + random.IntN(3))),
			})
		}
	}
	return jobs
}

// No deadline is missed where some order misses none, whichever class and tenant the calls are of.
func TestNoDeadlineIsMissedThatSomeOrderKeeps(t *testing.T) {
	rules := []Rule{{Rate: 4, Burst: 20}, {Rate: 1, Burst: 1}, {Rate: 2, Burst: 5}}
	tried := 0
	for seed := range uint64(10_000) {
		random := rand.New(rand.NewPCG(seed, 19))
		rule := rules[random.IntN(len(rules))]
		jobs := generated(random, rule)
		if !feasible(rule, jobs) {
			continue
		}
		tried++
		run(t, rule, jobs)
		for _, j := range jobs {
			if j.pastDue() {
				t.Fatalf("seed %d, %g:%d: late: %s", seed, rule.Rate, rule.Burst, j)
			}
		}
	}
	if tried < 200 {
		t.Errorf("%d sets of calls could be in time, want more of them to try", tried)
	}
}

// Rule 5: registrations and calls of other classes, however many, make no deregistration late that would be in time without them.
func TestOtherCallsMakeNoDeregistrationLate(t *testing.T) {
	rule := Rule{Rate: 4, Burst: 20}
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 5))
		var leave, all []*job
		for _, j := range generated(random, rule) {
			if j.class = ClassDeregister; random.IntN(3) == 0 {
				j.waits = true
			}
			leave = append(leave, j)
		}
		// Nobody can keep tokens for what is not known yet: all come first, and those that are due last come last of them.
		slices.SortFunc(leave, func(a, b *job) int { return cmp.Compare(a.deadline, b.deadline) })
		for i, j := range leave {
			j.comes = time.Duration(i)
		}
		if !feasible(rule, leave) {
			continue
		}
		all = append(all, leave...)
		for range 200 {
			all = append(all, &job{
				class: []Class{ClassRegister, ClassWaitingHealth, ClassOther}[random.IntN(3)],
				comes: time.Millisecond + time.Duration(random.Int64N(int64(time.Second))), deadline: time.Duration(random.Int64N(int64(10 * time.Second))),
			})
		}
		run(t, rule, all)
		for _, j := range leave {
			if j.pastDue() {
				t.Fatalf("seed %d: late: %s", seed, j)
			}
		}
	}
}

// When a single deregistration is answered, by what it says and what is left of the bucket of 20 tokens.
func TestDeregistrationWaitsWhereThatGainsSomething(t *testing.T) {
	tests := map[string]struct {
		waits  bool
		before int // calls that come first
		want   time.Duration
	}{
		"it has a replacement":             {want: 0},
		"it has none":                      {waits: true, want: 9 * time.Second},
		"tokens are short":                 {before: 19, want: 2250 * time.Millisecond}, // till half of them are back
		"tokens are short, and it has one": {waits: true, before: 19, want: 9 * time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			one := &job{comes: time.Millisecond, deadline: 10 * time.Second, waits: tc.waits}
			jobs := []*job{one}
			for range tc.before {
				jobs = append(jobs, &job{class: ClassWaitingHealth})
			}
			run(t, Rule{Rate: 4, Burst: 20}, jobs)
			if got := one.answered.Round(50 * time.Millisecond); got != tc.want {
				t.Errorf("answered after %s, want %s", got, tc.want)
			}
		})
	}
}

// More calls than there is room for tokens cannot all wait till they are due.
func TestManyDeregistrationsThatWaitBeginInTime(t *testing.T) {
	var jobs []*job
	for range 40 {
		jobs = append(jobs, &job{deadline: 10 * time.Second, waits: true})
	}
	run(t, Rule{Rate: 4, Burst: 20}, jobs)
	first := slices.MinFunc(jobs, func(a, b *job) int { return cmp.Compare(a.answered, b.answered) })
	last := slices.MaxFunc(jobs, func(a, b *job) int { return cmp.Compare(a.answered, b.answered) })
	if first.answered < 3*time.Second || last.late() {
		t.Errorf("answered from %s to %s, want none before 3s and none after 10s", first.answered, last.answered)
	}
}

// In a rush the pods that registrations let in have others deleted: tokens are left for deregistrations that come while earlier ones
// wait.
func TestLateRegistrationsLeaveTokensToDeregistrationsToCome(t *testing.T) {
	var leave, jobs []*job
	for range 27 {
		leave = append(leave, &job{comes: 8 * time.Second, deadline: 12 * time.Second})
	}
	for range 200 {
		jobs = append(jobs, &job{class: ClassRegister})
	}
	run(t, Rule{Rate: 4, Burst: 20}, append(jobs, leave...))
	for _, j := range leave {
		if j.late() {
			t.Errorf("late: %s", j)
		}
	}
}

// No deregistration takes its token from a bucket of other operations, so nothing is kept there.
func TestLateRegistrationsLeaveNothingWhereNoDeregistrationComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBucket(Rule{Service: EC2, Operations: regexp.MustCompile("^Describe"), Rate: 5, Burst: 25}, clock.RealClock{})
		begun := time.Now()
		for range 25 {
			token, err := b.wait(t.Context(), ClassRegister.Now(), "")
			if err != nil {
				t.Fatal(err)
			}
			token.Answered()
		}
		if waited := time.Since(begun); waited > 0 {
			t.Errorf("25 calls waited %s for a burst of 25", waited)
		}
	})
}

// Where deadlines cannot all be kept, one tenant's many calls make none of another tenant late for long.
func TestTenantsTakeTurnsWhereDeadlinesCannotBeKept(t *testing.T) {
	tests := map[string]struct {
		class    Class
		deadline time.Duration // after it comes, of the other tenant's call
		within   time.Duration
	}{
		"a deregistration that can be in time": {deadline: 3 * time.Second, within: 3500 * time.Millisecond},
		"a deregistration that is late":        {within: time.Second},
		"a registration that can be in time":   {class: ClassRegister, deadline: 5 * time.Second, within: time.Second},
		"a registration that is late":          {class: ClassRegister, within: 4 * time.Second}, // in 3 s the reserve is full
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			rare := &job{class: tc.class, comes: 4 * time.Second, deadline: 4*time.Second + tc.deadline, tenant: "rare"}
			jobs := []*job{rare}
			for i := range 1000 {
				comes := time.Duration(i) * 20 * time.Millisecond
				jobs = append(jobs, &job{class: tc.class, comes: comes, deadline: comes + 5*time.Second, tenant: "floods"})
			}
			run(t, Rule{Rate: 4, Burst: 20}, jobs)
			if waited := rare.answered - rare.comes; waited > tc.within {
				t.Errorf("the other tenant's call waited %s, want at most %s", waited, tc.within)
			}
		})
	}
}

// Late deregistrations, however many and of however many tenants, keep no registration waiting till they are all through. Nor do
// registrations take more than every fifth token from them.
func TestLateDeregistrationsDoNotShutRegistrationsOut(t *testing.T) {
	rule, others := Rule{Rate: 4, Burst: 20}, map[string]int{"one registration": 1, "many registrations": 1000}
	for name, registrations := range others {
		t.Run(name, func(t *testing.T) {
			var leave, come []*job
			for i := range 500 {
				leave = append(leave, &job{tenant: fmt.Sprint("preview-", i)})
			}
			for range registrations {
				come = append(come, &job{class: ClassRegister, comes: 4 * time.Second, deadline: 7 * time.Second, tenant: "rare"})
			}
			run(t, rule, append(slices.Clone(leave), come...))
			byAnswer := func(a, b *job) int { return cmp.Compare(a.answered, b.answered) }
			first := slices.MinFunc(come, byAnswer)
			if waited := first.answered - first.comes; waited < patience || waited > patience+2*time.Second {
				t.Errorf("the first registration waited %s, want %s and a turn", waited, patience)
			}
			if last := slices.MaxFunc(leave, byAnswer); last.answered > 150*time.Second { // 120 s without the registrations
				t.Errorf("the last deregistration was answered after %s, want it a quarter later than without registrations", last.answered)
			}
		})
	}
}

// What a call costs grows by little with the deadlines that wait: no call waits for more than one look at them.
func BenchmarkBucketWaitBesideDeadlines(b *testing.B) {
	for _, waiting := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("%d wait", waiting), func(b *testing.B) {
			bucket := newBucket(Rule{Operations: regexp.MustCompile("."), Rate: 1, Burst: 1}, clock.RealClock{})
			bucket.tokens = 0
			deadline := time.Now().Add(time.Hour)
			for i := range waiting {
				bucket.enqueue(Urgency{Class: ClassDeregister, Deadline: deadline.Add(time.Duration(i))}, "")
			}
			for b.Loop() {
				bucket.abandon(bucket.enqueue(Urgency{Class: ClassRegister, Deadline: deadline}, "a"))
			}
		})
	}
}

// A registration that leaves tokens to deregistrations leaves none to less urgent calls.
func TestLessUrgentCallsTakeNoTokensFromRegistrations(t *testing.T) {
	one := &job{class: ClassRegister, comes: 30 * time.Second, deadline: 30 * time.Second}
	jobs := []*job{one}
	for range 1000 {
		jobs = append(jobs, &job{class: ClassOther})
	}
	run(t, Rule{Rate: 4, Burst: 20}, jobs)
	if waited := one.answered - one.comes; waited > 4*time.Second {
		t.Errorf("the registration waited %s, want the 3s in which the reserve fills, and what others are owed", waited)
	}
}

func TestUrgencyReplacesWhatWaitsOtherwise(t *testing.T) {
	now := time.Now()
	soon, later := Urgency{Class: ClassDeregister, Deadline: now}, Urgency{Class: ClassDeregister, Deadline: now.Add(time.Second)}
	waits := func(u Urgency) Urgency { u.Waits = true; return u }
	tests := map[string]struct {
		queued, next Urgency
		want         bool
	}{
		"the same":                        {soon, soon, false},
		"the same, waits":                 {waits(soon), waits(soon), false},
		"an earlier deadline":             {later, soon, true},
		"a later deadline":                {soon, later, false},
		"it has to stay again":            {soon, waits(soon), true},
		"it has to stay, for longer":      {soon, waits(later), true},
		"it need not stay any more":       {waits(soon), soon, true},
		"it need not stay, due later":     {waits(soon), later, true},
		"it stays for longer":             {waits(soon), waits(later), true},
		"no hope any more":                {soon, ClassOther.Now(), false},
		"hope again":                      {ClassOther.Now(), later, true},
		"a registration with a new time":  {Urgency{Class: ClassRegister, Deadline: now}, ClassRegister.Now(), false},
		"a reading that a pod waits for":  {ClassOther.Now(), ClassWaitingHealth.Now(), true},
		"a reading that no pod waits for": {ClassWaitingHealth.Now(), ClassOther.Now(), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tc.next.Replaces(tc.queued); got != tc.want {
				t.Errorf("%t, want %t", got, tc.want)
			}
		})
	}
}

// A call with a deadline waits in the line, where the order of calls is known, and not before it.
func TestDeregistrationWithADeadlineDoesNotCoalesce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := oneAtATime()
		_ = spend(t.Context(), budget, "First")
		for u, want := range map[Urgency]time.Duration{
			ClassDeregister.Now(): coalesceWindow[ClassDeregister], ClassRegister.Now(): coalesceWindow[ClassRegister],
			{Class: ClassDeregister, Deadline: time.Now().Add(time.Hour)}: 0,
		} {
			begun := time.Now()
			b := budget.buckets[0]
			b.tokens, b.filled = 0, begun
			if err := budget.Coalesce(t.Context(), u, ELBv2, "Any"); err != nil || time.Since(begun) != want {
				t.Errorf("%+v waits %s, want %s (%v)", u, time.Since(begun), want, err)
			}
		}
	})
}

// What a call that is given up has kept from others is theirs at once.
func TestAbandonedCallsKeepNothingFromOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBucket(Rule{Operations: regexp.MustCompile("."), Rate: 1, Burst: 4}, clock.RealClock{})
		b.tokens = 1 // too few for a late registration, for which some are kept
		given, giveUp := context.WithCancel(t.Context())
		go func() {
			_, _ = b.wait(given, ClassRegister.Now(), "")
		}()
		synctest.Wait()
		begun := time.Now()
		done := make(chan struct{})
		go func() {
			_, _ = b.wait(t.Context(), ClassOther.Now(), "")
			close(done)
		}()
		synctest.Wait()
		giveUp()
		<-done
		if waited := time.Since(begun); waited > 0 {
			t.Errorf("the other call waited %s", waited)
		}
	})
}

// Tokens are floating point numbers: after a pause, next to nothing may be missing.
func TestNoCallWaitsForeverForNextToNothing(t *testing.T) {
	tests := map[string]struct {
		tokens, admission float64
		classes           []Class
	}{
		"of a token":                        {tokens: math.Nextafter(1, 0), classes: []Class{ClassDeregister}},
		"of what a late registration needs": {tokens: math.Nextafter(13, 0), classes: []Class{ClassRegister}},
		"of a lookup's share":               {tokens: 20, admission: math.Nextafter(1, 0), classes: []Class{ClassAdmission}},
		"while a lookup could go":           {tokens: 9, admission: 4, classes: []Class{ClassRegister, ClassAdmission}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBucket(Rule{Operations: regexp.MustCompile("."), Rate: 4, Burst: 20}, clock.RealClock{})
				b.tokens, b.admission = tc.tokens, tc.admission
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				var calls sync.WaitGroup
				for _, class := range tc.classes {
					calls.Go(func() {
						if _, err := b.wait(ctx, class.Now(), ""); err != nil {
							t.Errorf("%s: %s", class, err)
						}
					})
					synctest.Wait()
				}
				calls.Wait()
			})
		})
	}
}
