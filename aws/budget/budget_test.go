// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"errors"
	"math/rand/v2"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/awserr"
)

// oneAtATime grants one token at the start and one a second from then on, for every operation.
func oneAtATime() *Budget {
	return New("", []Rule{{Operations: regexp.MustCompile("."), Rate: 1, Burst: 1}}, clock.RealClock{})
}

// spend has a call made that is answered at once.
func spend(ctx context.Context, budget *Budget, operation string) error {
	token, err := budget.Take(ctx, ELBv2, operation)
	token.Answered()
	return err
}

// Rule 9: deregister, register, (admission,) health of pods that wait, everything else of pods, load balancers.
func TestBudgetServesClassesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := oneAtATime()
		if err := spend(t.Context(), budget, "First"); err != nil {
			t.Fatal(err)
		}
		served := make(chan string)
		for _, call := range []struct {
			name  string
			class Class
		}{
			{"late", ClassLate}, {"provision", ClassProvision}, {"other", ClassOther}, {"health", ClassWaitingHealth}, {"admission", ClassAdmission}, {"register 1", ClassRegister},
			{"deregister 1", ClassDeregister}, {"register 2", ClassRegister}, {"deregister 2", ClassDeregister},
		} {
			go func() {
				if err := spend(WithCharge(context.Background(), Charge{Urgency: call.class.Now()}), budget, "Any"); err != nil {
					t.Error(err)
				}
				served <- call.name
			}()
			synctest.Wait() // they queue in this order
		}
		var got []string
		for range 9 {
			got = append(got, <-served)
		}
		want := []string{"deregister 1", "deregister 2", "register 1", "register 2", "admission", "health", "other", "provision", "late"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("order of service (-want +got):\n%s", diff)
		}
	})
}

// With many groups to ask for health there is always one in the line; settings must be read all the same.
func TestBudgetServesLowestClassEventually(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := oneAtATime()
		ctx, stop := context.WithCancel(WithCharge(context.Background(), Charge{Urgency: ClassWaitingHealth.Now()}))
		defer stop()
		for range 5 {
			go func() {
				for spend(ctx, budget, "Health") == nil {
				}
			}()
		}
		synctest.Wait()
		start := time.Now()
		if err := spend(WithCharge(t.Context(), Charge{Urgency: ClassOther.Now()}), budget, "Settings"); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited < patience || waited > patience+2*time.Second {
			t.Errorf("waited %s, want %s", waited, patience)
		}
	})
}

// The lower classes share every fifth token: none of them keeps another waiting for ever, nor all of them a pod.
func TestBudgetServesLowerClassesInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := oneAtATime()
		ctx, stop := context.WithCancel(t.Context())
		var served [classCount]atomic.Int64
		for class, callers := range map[Class]int{ClassWaitingHealth: 5, ClassOther: 20, ClassProvision: 20, ClassLate: 20} {
			for range callers {
				go func() {
					for spend(WithCharge(ctx, Charge{Urgency: class.Now()}), budget, "Any") == nil {
						served[class].Add(1)
					}
				}()
			}
		}
		time.Sleep(10*time.Minute + patience)
		stop()
		for class, least := range map[Class]int64{ClassWaitingHealth: 470, ClassOther: 35, ClassProvision: 35, ClassLate: 35} {
			if got := served[class].Load(); got < least {
				t.Errorf("%d calls of class %s in ten minutes, want at least %d", got, class, least)
			}
		}
	})
}

// While a registration is late, and leaves tokens to deregistrations, these are not plenty.
func TestTokensAreShortWhileRegistrationsAreLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := New("", []Rule{{Operations: regexp.MustCompile("."), Rate: 4, Burst: 20}}, clock.RealClock{})
		for range 20 {
			if err := spend(t.Context(), budget, "RegisterTargets"); err != nil {
				t.Fatal(err)
			}
		}
		late := WithCharge(t.Context(), Charge{Budget: budget, Urgency: Urgency{Class: ClassRegister, Deadline: time.Now()}})
		go func() { _ = spend(late, budget, "RegisterTargets") }()
		time.Sleep(2900 * time.Millisecond)
		if tokens := budget.Levels()[0].Tokens; tokens < 11 || !budget.Short(ELBv2, "RegisterTargets") {
			t.Errorf("%.1f tokens, short: %t; want more than half, and short", tokens, budget.Short(ELBv2, "RegisterTargets"))
		}
		time.Sleep(2 * time.Second)
		if budget.Short(ELBv2, "RegisterTargets") {
			t.Error("tokens are short, and no registration waits")
		}
	})
}

// Rule 9: few tokens are not spent on one target each.
func TestBudgetCoalescesWhenTokensAreShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := New("", []Rule{{Operations: regexp.MustCompile("."), Rate: 4, Burst: 20}}, clock.RealClock{})
		start := time.Now()
		for calls := range 15 {
			if err := budget.Coalesce(t.Context(), ClassDeregister.Now(), ELBv2, "DeregisterTargets"); err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(start); calls < 9 && waited > 0 || calls > 10 && waited == 0 {
				t.Errorf("call %d went after %s, want it at once with a full bucket only", calls, waited)
			}
			if err := spend(t.Context(), budget, "DeregisterTargets"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestBudgetKeepsRateAndBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := New("", []Rule{{Operations: regexp.MustCompile("."), Rate: 4, Burst: 20}}, clock.RealClock{})
		start := time.Now()
		var took []time.Duration
		for range 28 {
			if err := spend(t.Context(), budget, "RegisterTargets"); err != nil {
				t.Fatal(err)
			}
			took = append(took, time.Since(start).Round(50*time.Millisecond))
		}
		if took[19] != 0 {
			t.Errorf("the burst of 20 took %s, want no time", took[19])
		}
		if want := 2 * time.Second; took[27] != want {
			t.Errorf("8 more took %s, want %s at 4 a second", took[27], want)
		}
	})
}

func TestBudgetGivesBackTokenOfCancelledWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := oneAtATime()
		_ = spend(t.Context(), budget, "First")
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := spend(ctx, budget, "Cancelled"); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("waiting with a deadline: got %v, want deadline exceeded", err)
		}
		start := time.Now()
		_ = spend(t.Context(), budget, "Next")
		if took := time.Since(start).Round(100 * time.Millisecond); took != 900*time.Millisecond {
			t.Errorf("the next caller waited %s, want the 900 ms that were left", took)
		}
	})
}

// AssumeRole has a bucket of its own, however late credentials turn out to be too old.
func TestBudgetSlowsDownForItsOwnCallsOnly(t *testing.T) {
	throttled := &smithy.GenericAPIError{Code: "Throttling", Message: "Rate exceeded"}
	for name, tc := range map[string]struct {
		err  error
		want float64
	}{
		"throttled":            {throttled, 0.5},
		"its role's throttled": {&awserr.RoleError{Err: throttled}, 1},
		"another error":        {errors.New("no answer"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			budget := oneAtATime()
			budget.observe(ELBv2, "DescribeTargetGroups", tc.err)
			if got := budget.Levels()[0].Rate; got > tc.want*1.01 || got < tc.want {
				t.Errorf("rate %g, want %g", got, tc.want)
			}
		})
	}
}

func TestBudgetLeavesUnmatchedOperationsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := New("", nil, clock.RealClock{})
		start := time.Now()
		for range 1000 {
			_ = spend(t.Context(), budget, "AssumeRole")
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("1000 calls that no rule matches waited %s", took)
		}
	})
}

// AWS takes its tokens when calls arrive. Our calls, however they bunch up on the way, are never too many.
func TestBudgetNeverRunsIntoBucketOfItsOwnShape(t *testing.T) {
	tests := map[string]Rule{
		"registering": {Rate: 4, Burst: 20},
		"describing":  {Rate: 50, Burst: 200},
	}
	for name, rule := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rule.Operations = regexp.MustCompile(".")
				budget := New("", []Rule{rule}, clock.RealClock{})
				server := &arrivals{rule: rule, tokens: float64(rule.Burst), at: time.Now()}
				random := rand.New(rand.NewPCG(1, 2))
				var calls sync.WaitGroup
				for range 40 * rule.Burst {
					time.Sleep(time.Duration(random.ExpFloat64() / rule.Rate * float64(time.Second) / 2))
					if random.IntN(rule.Burst) == 0 { // now and then the bucket fills up
						time.Sleep(time.Duration(float64(rule.Burst) / rule.Rate * float64(time.Second)))
					}
					there, back := time.Duration(random.Int64N(int64(2*time.Second))), time.Duration(random.Int64N(int64(time.Second)))
					calls.Go(func() {
						token, _ := budget.Take(t.Context(), ELBv2, "Any")
						time.Sleep(there)
						server.arrive()
						time.Sleep(back)
						token.Answered()
					})
				}
				calls.Wait()
				if server.throttled > 0 {
					t.Errorf("%d calls throttled, want none", server.throttled)
				}
			})
		})
	}
}

// arrivals is AWS's bucket.
type arrivals struct {
	rule      Rule
	mu        sync.Mutex
	tokens    float64
	at        time.Time
	throttled int
}

func (a *arrivals) arrive() {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.tokens = min(float64(a.rule.Burst), a.tokens+a.rule.Rate*now.Sub(a.at).Seconds())
	a.at = now
	if a.tokens < 1 {
		a.throttled++
		return
	}
	a.tokens--
}

func TestBudgetDropsRulesThatCanMatchNothing(t *testing.T) {
	pattern := regexp.MustCompile("^Describe")
	budget := New("another's", []Rule{
		{Operations: pattern, Rate: 1, Burst: 1},
		{Operations: regexp.MustCompile("."), Rate: 2, Burst: 1},
		{Operations: pattern, Rate: 3, Burst: 1},
	}, clock.RealClock{})
	var rates []float64
	for _, bucket := range budget.buckets {
		rates = append(rates, bucket.rule.Rate)
	}
	if diff := cmp.Diff([]float64{1, 2}, rates); diff != "" {
		t.Errorf("rates of the buckets (-want +got):\n%s", diff)
	}
}
