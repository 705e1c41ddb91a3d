// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// manyPods are pods with ready containers at 10.0.1.1 and up, and the slice that lists them.
func manyPods(n int) []client.Object {
	slice := newSlice("web-many")
	var objects []client.Object
	for i := range n {
		pod := newPod(fmt.Sprintf("web-%03d", i), fmt.Sprintf("10.0.1.%d", i+1))
		slice.Endpoints = append(slice.Endpoints, newSlice("", pod).Endpoints...)
		objects = append(objects, withFinalizer(pod))
	}
	return append(objects, slice)
}

// Rule 8: one bad target never blocks the others.
func TestRegistrarIsolatesRefusedTarget(t *testing.T) {
	tests := map[string]error{
		"invalid":  &elbv2types.InvalidTargetException{Message: ptr.To("not within an allowed range")},
		"too many": &elbv2types.TooManyRegistrationsForTargetIdException{Message: ptr.To("registered too often")},
	}
	t.Parallel()
	for name, refusal := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBed(t, func(b *bed) {
				bad := elbv2.Target{ID: "10.0.1.77", Port: 8080}
				refuses := true
				b.aws.Refuse = func(target elbv2.Target, _ string) error {
					if target == bad && refuses {
						return refusal
					}
					return nil
				}
				begun := time.Now()
				for len(b.aws.Targets(testARN)) < 199 && time.Since(begun) < time.Minute {
					b.after(100 * time.Millisecond)
				}
				if n := len(b.aws.Targets(testARN)); n != 199 {
					t.Errorf("%d targets, want 199", n)
				}
				others := slices.DeleteFunc(b.aws.Calls("RegisterTargets"), func(call fakeelbv2.Call) bool {
					return slices.Equal(call.Targets, []string{bad.String()}) // which has its own retries
				})
				if n := len(others); n > 16 {
					t.Errorf("%d calls, want at most 2 for each halving of 200", n)
				}
				if took := time.Since(begun); took > 5*time.Second {
					t.Errorf("the others waited %s", took)
				}
				b.after(time.Second)
				if got, want := b.condition("web-076"), "False RegistrationFailed"; got != want {
					t.Errorf("condition of the bad one %q, want %q", got, want)
				}
				if got, want := b.condition("web-077"), "False Elb.RegistrationInProgress"; got != want {
					t.Errorf("condition of another %q, want %q", got, want)
				}
				c := b.ready()
				if c.Reason != v1beta1.ReasonTargetsRefused || !strings.HasPrefix(c.Message, bad.String()+": ") {
					t.Errorf("condition Ready says %s: %s", c.Reason, c.Message)
				}
				before := len(b.aws.Calls("RegisterTargets"))
				for range 120 {
					b.after(time.Second)
				}
				if n := len(b.aws.Calls("RegisterTargets")) - before; n < 4 || n > 12 {
					t.Errorf("%d tries in two minutes, want a back-off of at most 30 s", n)
				}
				refuses = false
				b.after(retry.MaxBackoff)
				if n := len(b.aws.Targets(testARN)); n != 200 {
					t.Errorf("%d targets after AWS relented, want 200", n)
				}
			}, manyPods(200)...)
		})
	}
}

// A full group takes what fits, and does not cost a call for each target that does not.
func TestRegistrarFillsGroupToItsQuota(t *testing.T) {
	inBed(t, func(b *bed) {
		const quota = 130
		calls := 0
		b.aws.Before = func(_ context.Context, call fakeelbv2.Call) error {
			if call.Operation == "RegisterTargets" {
				calls++
			}
			if call.Operation == "RegisterTargets" && len(b.aws.Targets(testARN))+len(call.Targets) > quota {
				return &elbv2types.TooManyTargetsException{Message: ptr.To("too many targets")}
			}
			return nil
		}
		for range 60 {
			b.after(time.Second)
		}
		if n := len(b.aws.Targets(testARN)); n != quota {
			t.Errorf("%d targets, want %d", n, quota)
		}
		if calls > 40 {
			t.Errorf("%d calls in a minute", calls)
		}
		if c := b.ready(); !strings.Contains(c.Message, "quota: targets per target group") {
			t.Errorf("condition Ready says %s: %s", c.Reason, c.Message)
		}
	}, manyPods(200)...)
}

func TestRegistrarRefusedDeregistrationDelaysNoOther(t *testing.T) {
	inBed(t, func(b *bed) {
		b.settle()
		b.aws.Before = func(_ context.Context, call fakeelbv2.Call) error {
			if call.Operation == "DeregisterTargets" && strings.Contains(strings.Join(call.Targets, " "), "10.0.1.3:8080") {
				return &smithy.GenericAPIError{Code: "ValidationError", Message: "odd"}
			}
			return nil
		}
		var binding v1beta1.TargetGroupBinding
		b.must(b.cluster.Get(t.Context(), webKey, &binding))
		b.must(b.cluster.Delete(t.Context(), &binding))
		b.settle()
		left := 0
		for _, state := range b.targets() {
			if state != elbv2.StateDraining {
				left++
			}
		}
		if left != 1 {
			t.Errorf("%d targets are left, want the refused one", left)
		}
	}, manyPods(8)...)
}

// A group that takes no target at all does not use up the budget of the others.
func TestRegistrarBacksOffFromGroupThatRefusesEverything(t *testing.T) {
	inBed(t, func(b *bed) {
		calls := 0
		b.aws.Before = func(_ context.Context, call fakeelbv2.Call) error {
			if call.Operation != "RegisterTargets" {
				return nil
			}
			calls++
			return &smithy.GenericAPIError{Code: "ValidationError", Message: "no target is good enough"}
		}
		for range 300 {
			b.after(time.Second)
		}
		if calls < 16 || calls > 16+20 {
			t.Errorf("%d calls in five minutes for 100 targets, want a back-off after %d", calls, 16)
		}
	}, manyPods(100)...)
}
