// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/webhook/webhooktest"
)

func TestClaims(t *testing.T) {
	type step struct {
		binding *v1beta1.TargetGroupBinding
		shown   []client.Object // by the cache, of the same group
		dryRun  bool
		pause   time.Duration // before
		refused bool
	}
	uid := func(uid types.UID) change { return func(b *v1beta1.TargetGroupBinding) { b.UID = uid } }
	first, second := webhooktest.NewBinding("first"), webhooktest.NewBinding("second", elsewhere)
	otherGroup := webhooktest.NewBinding("second", func(b *v1beta1.TargetGroupBinding) { b.Spec.TargetGroupARN += "0" })
	tests := map[string][]step{
		"the second one is refused":      {{binding: first}, {binding: second, refused: true}},
		"the same one may try again":     {{binding: first}, {binding: first}, {binding: second, refused: true}},
		"for a while":                    {{binding: first}, {binding: second, pause: claimLife - time.Millisecond, refused: true}},
		"and not for ever":               {{binding: first}, {binding: second, pause: claimLife}, {binding: first, refused: true}},
		"a dry run reserves nothing":     {{binding: first, dryRun: true}, {binding: second}},
		"and is told":                    {{binding: first}, {binding: second, dryRun: true, refused: true}},
		"a refused one reserves nothing": {{binding: first}, {binding: second, refused: true}, {binding: first, pause: claimLife}},
		"all share":                      {{binding: webhooktest.NewBinding("first", shared)}, {binding: webhooktest.NewBinding("second", shared)}},
		"one shares":                     {{binding: first}, {binding: webhooktest.NewBinding("second", shared), refused: true}},
		"it is not renewed, by whatever name": {
			{binding: first}, {binding: first, pause: claimLife - time.Second}, {binding: webhooktest.NewBinding("third"), pause: claimLife}, {binding: second},
		},
		"it can be had again later":       {{binding: first}, {binding: first, pause: claimPause}, {binding: second, refused: true}},
		"other groups are another matter": {{binding: first}, {binding: otherGroup}},
		// It was created and is being deleted already: the claim is older than what the cache shows.
		"the cache knows better": {
			{binding: webhooktest.NewBinding("first", uid("1"))}, {binding: second, shown: []client.Object{webhooktest.NewBinding("first", leaving, uid("1"))}},
		},
		// It was deleted, and created again.
		"the cache shows an earlier one of that name": {
			{binding: webhooktest.NewBinding("first", uid("2"))},
			{binding: second, shown: []client.Object{webhooktest.NewBinding("first", leaving, uid("1"))}, refused: true},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				claims := newClaims(clock.RealClock{})
				for i, step := range steps {
					time.Sleep(step.pause) // of the bubble
					validator, api := newValidator(t, step.shown...)
					api.AddGroup(testGroup(otherGroup.Spec.TargetGroupARN, elbv2types.TargetTypeEnumIp))
					validator.claims = claims
					req := creation(step.binding)
					req.DryRun = &step.dryRun
					_, err := validator.create(t.Context(), req)
					if refused := len(faultsIn(t, err)) > 0; refused != step.refused {
						t.Errorf("step %d: error %v, want a refusal: %v", i+1, err, step.refused)
					}
					if err != nil && !strings.Contains(err.Error(), "created a moment ago, has this target group: if it does not exist, try again in ") {
						t.Errorf("step %d: %v does not say what to do", i+1, err)
					}
				}
			})
		})
	}
}

func TestOnlyOneOfManyCreationsAtOnceIsLetIn(t *testing.T) {
	validator, _ := newValidator(t)
	var letIn atomic.Int32
	var creations sync.WaitGroup
	for i := range 20 {
		creations.Go(func() {
			binding := webhooktest.NewBinding(strings.Repeat("a", i+1))
			if _, err := validator.create(t.Context(), creation(binding)); err == nil {
				letIn.Add(1)
			}
		})
	}
	creations.Wait()
	if n := letIn.Load(); n != 1 {
		t.Errorf("%d bindings of one group were let in, want 1", n)
	}
}

// An update claims a group only if it makes the binding the only one.
func TestClaimsOfUpdates(t *testing.T) {
	tests := map[string]struct {
		old, new []change
		want     bool // a new binding is kept away
	}{
		"another Service":  {new: []change{toService("api")}},
		"no longer shared": {old: []change{shared}, want: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			validator, _ := newValidator(t)
			req := changed(webhooktest.NewBinding("web", tc.old...), webhooktest.NewBinding("web", tc.new...))
			if _, err := validator.update(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			_, err := validator.create(t.Context(), creation(webhooktest.NewBinding("second", shared)))
			if got := len(faultsIn(t, err)) > 0; got != tc.want {
				t.Errorf("a creation right after gets %v, want a refusal: %v", err, tc.want)
			}
		})
	}
}

func TestClaimsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		claims := newClaims(clock.RealClock{})
		for range 200 {
			binding := webhooktest.NewBinding("web", func(b *v1beta1.TargetGroupBinding) { b.Spec.TargetGroupARN = time.Now().String() })
			claims.take(binding, nil, true)
			time.Sleep(time.Second) // of the bubble
		}
		if n := len(claims.held); n > 5 {
			t.Errorf("%d claims are held, want those of the last 5 s", n)
		}
		if n := len(claims.paused); n > 60 {
			t.Errorf("%d claims are remembered, want those of the last minute", n)
		}
	})
}
