// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/aws/budget"
)

// healthy is an AWS in which every target that is asked for is healthy, and a whole group has 200 of them.
type healthy struct {
	API
	mu    sync.Mutex
	asked []int // how many names each call has
}

func (h *healthy) DescribeTargetHealth(_ context.Context, in *awselbv2.DescribeTargetHealthInput, _ ...func(*awselbv2.Options)) (
	*awselbv2.DescribeTargetHealthOutput, error,
) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, len(in.Targets))
	targets := in.Targets
	if len(targets) == 0 {
		for i := range 200 {
			targets = append(targets, types.TargetDescription{Id: aws.String(fmt.Sprintf("10.0.0.%d", i)), Port: aws.Int32(80)})
		}
	}
	out := &awselbv2.DescribeTargetHealthOutput{}
	for _, target := range targets {
		out.TargetHealthDescriptions = append(out.TargetHealthDescriptions, types.TargetHealthDescription{
			Target: &target, TargetHealth: &types.TargetHealth{State: types.TargetHealthStateEnumHealthy},
		})
	}
	return out, nil
}

func named(i int) Target { return Target{ID: fmt.Sprintf("10.0.0.%d", i), Port: 80} }

// Ten thousand bindings of one group, with a pod each, cost one call at a time.
func TestReadingsOfAGroupShareACall(t *testing.T) {
	tests := map[string]struct {
		bindings int
		whole    bool // the first one asks for the whole group
		want     []int
	}{
		"few targets":         {bindings: 20, want: []int{20}},
		"many targets":        {bindings: 150, want: []int{0}},
		"one wants the group": {bindings: 3, whole: true, want: []int{0}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := &healthy{}
				client := New(api, oneAtATime())
				spend(t.Context(), client.session.Budget())
				var readers sync.WaitGroup
				for i := range tc.bindings {
					readers.Go(func() {
						want := map[Target]Health{named(i): {State: StateHealthy}}
						ask := func() []Target { return []Target{named(i)} }
						whole := tc.whole && i == 0
						if whole {
							ask = WholeGroup
						}
						got, err := client.For("a").Health(t.Context(), budget.ClassWaitingHealth, testARN, ask)
						if err != nil || !whole && !cmp.Equal(want, got) || whole && len(got) != 200 {
							t.Errorf("%v and %d targets for binding %d, want its own", err, len(got), i)
						}
					})
				}
				readers.Wait()
				if diff := cmp.Diff(tc.want, api.asked); diff != "" {
					t.Errorf("names of each call (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestReadingsThatDifferHaveACallEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &healthy{}
		client := New(api, oneAtATime())
		spend(t.Context(), client.session.Budget())
		var readers sync.WaitGroup
		for _, read := range []struct {
			tenant, arn string
			class       budget.Class
		}{{"a", "arn", budget.ClassWaitingHealth}, {"b", "arn", budget.ClassWaitingHealth}, {"a", "other", budget.ClassWaitingHealth}, {"a", "arn", budget.ClassOther}} {
			readers.Go(func() { _, _ = client.For(read.tenant).Health(t.Context(), read.class, read.arn, WholeGroup) })
		}
		readers.Wait()
		_, _ = client.For("a").Health(t.Context(), budget.ClassOther, "arn", WholeGroup) // one that is over is not joined
		if len(api.asked) != 5 {
			t.Errorf("%d calls, want 5", len(api.asked))
		}
	})
}

func TestReadingGoesOnWithoutWhoeverLeaves(t *testing.T) {
	for name, stay := range map[string]bool{"one stays": true, "all leave": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := &healthy{}
				client := New(api, oneAtATime())
				spend(t.Context(), client.session.Budget())
				leaving, leave := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer leave()
				var readers sync.WaitGroup
				readers.Go(func() {
					_, err := client.Health(leaving, budget.ClassOther, testARN, func() []Target {
						t.Error("whoever has left was asked")
						return nil
					})
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("error %v, want the deadline", err)
					}
				})
				if stay {
					readers.Go(func() {
						synctest.Wait()
						got, err := client.Health(t.Context(), budget.ClassOther, testARN, func() []Target { return []Target{named(1)} })
						if err != nil || len(got) != 1 {
							t.Errorf("%d targets and %v, want one", len(got), err)
						}
					})
				}
				readers.Wait()
				synctest.Wait()
				if waiting := client.session.Budget().Levels()[0].Waiting[budget.ClassOther]; waiting != 0 || len(client.readings.waiting) != 0 {
					t.Errorf("%d calls and %d readings wait when nobody does", waiting, len(client.readings.waiting))
				}
				if stay != (len(api.asked) == 1) {
					t.Errorf("%d calls", len(api.asked))
				}
			})
		})
	}
}
