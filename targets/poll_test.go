// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
)

// Only what somebody waits for is asked for, as long as these are few.
func TestRegistrarAsksForWaitingTargetsOnly(t *testing.T) {
	objects := manyPods(60)
	for _, o := range objects {
		if pod, ok := o.(*corev1.Pod); ok && pod.Name != "web-007" {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: testGate, Status: corev1.ConditionTrue})
		}
	}
	inBed(t, func(b *bed) {
		for i := range 60 {
			if i != 7 {
				b.aws.SetHealth(testARN, elbv2.Target{ID: fmt.Sprintf("10.0.1.%d", i+1), Port: 8080}, healthy)
			}
		}
		b.settle()
		before := len(b.aws.Calls("DescribeTargetHealth"))
		for range 3 {
			b.after(time.Second)
		}
		for _, call := range b.aws.Calls("DescribeTargetHealth")[before:] {
			if diff := cmp.Diff([]string{"10.0.1.8:8080"}, call.Targets); diff != "" {
				t.Errorf("asked for (-want +got):\n%s", diff)
			}
		}
		b.aws.SetHealth(testARN, elbv2.Target{ID: "10.0.1.8", Port: 8080}, healthy)
		b.after(time.Second)
		if got, want := b.condition("web-007"), "True "; got != want {
			t.Errorf("condition %q, want %q", got, want)
		}
		b.after(elbv2.SettleTime) // the binding is new
		settled := len(b.aws.Calls("DescribeTargetHealth"))
		b.after(3 * time.Minute)
		if n := len(b.aws.Calls("DescribeTargetHealth")) - settled; n != 0 {
			t.Errorf("%d readings of a settled group in three minutes, want none", n)
		}
	}, objects...)
}

// A target that vanishes while only it is asked for comes back; the rest of the group is as it was.
func TestRegistrarPartialReadingSaysNothingOfOthers(t *testing.T) {
	a, c := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
	open := corev1.PodCondition{Type: testGate, Status: corev1.ConditionTrue}
	a.Status.Conditions = append(a.Status.Conditions, open)
	inBed(t, func(b *bed) {
		b.aws.SetHealth(testARN, one, healthy)
		b.settle()
		b.after(elbv2.SettleTime + time.Second)
		b.aws.Forget(testARN, two)
		b.after(time.Second)
		b.after(time.Second)
		want := map[string]elbv2.State{one.String(): elbv2.StateHealthy, two.String(): elbv2.StateInitial}
		if diff := cmp.Diff(want, b.targets()); diff != "" {
			t.Errorf("targets (-want +got):\n%s", diff)
		}
		if n := len(b.aws.Calls("DeregisterTargets")); n != 0 {
			t.Errorf("%d deregistrations, want none", n)
		}
	}, []client.Object{a, c, newSlice("web-1", a, c)}...)
}

// A drift reading that stands in the line for nobody gives way to one for a pod that has come since.
func TestRegistrarReadingOfIdleGroupGivesWayToOneForAPod(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	pod.Status.Conditions[0].Status = corev1.ConditionFalse
	inBed(t, func(b *bed) {
		few := budget.New("", []budget.Rule{{Operations: regexp.MustCompile("^DescribeTargetHealth"), Rate: 1, Burst: 1}}, clock.RealClock{})
		client := elbv2.New(b.aws, few)
		b.Clients = oneAccount{client}
		b.settle()
		ctx, stop := context.WithCancel(b.t.Context())
		defer stop()
		for range 4 { // others ask for health all the time
			go func() {
				for ctx.Err() == nil {
					_, _ = client.Health(ctx, budget.ClassWaitingHealth, testARN, elbv2.WholeGroup)
				}
			}()
		}
		time.Sleep(testDrift)
		b.pass() // the drift reading stands behind them
		b.setContainersReady("web-0", corev1.ConditionTrue)
		b.aws.SetHealth(testARN, one, healthy)
		begun := time.Now()
		for b.condition("web-0") != "True " && time.Since(begun) < time.Minute {
			b.after(100 * time.Millisecond)
		}
		if took := time.Since(begun); took > 7*time.Second {
			t.Errorf("the gate opened after %s, want it in its turn among five", took)
		}
	}, pod, newSlice("web-1", pod))
}

// Where AWS does not take names, the whole group is asked for.
func TestRegistrarAsksForWholeGroupWhenNamesAreRefused(t *testing.T) {
	a, c := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
	a.Status.Conditions = append(a.Status.Conditions, corev1.PodCondition{Type: testGate, Status: corev1.ConditionTrue})
	inBed(t, func(b *bed) {
		b.aws.Before = func(_ context.Context, call fakeelbv2.Call) error {
			if call.Operation == "DescribeTargetHealth" && len(call.Targets) > 0 {
				return validationError("no names, please")
			}
			return nil
		}
		b.aws.SetHealth(testARN, one, healthy)
		b.settle()
		b.aws.SetHealth(testARN, two, healthy)
		for range 10 {
			b.after(time.Second)
		}
		if got, want := b.condition("web-1"), "True "; got != want {
			t.Errorf("condition %q, want %q", got, want)
		}
	}, a, c, newSlice("web-1", a, c))
}
