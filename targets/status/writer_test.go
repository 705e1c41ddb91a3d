// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/report"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/targets/writes"
)

// A write without an answer may have had its effect, even if by now the old status is right again.
func TestStatusWhoseFateIsUnknownIsWrittenAgain(t *testing.T) {
	start := time.Now()
	old, other := &v1beta1.TargetGroupBindingStatus{}, &v1beta1.TargetGroupBindingStatus{Targets: &v1beta1.TargetCounts{Summary: "1/1"}}
	s := &Status{}
	s.plan(nil, old, other, start)
	now := start.Add(targetgroup.Brief)
	if _, due := s.plan(nil, old, other, now); !due {
		t.Fatal("what has lasted is not written")
	}
	s.done(s.take(), "", now, context.DeadlineExceeded)
	if wait, due := s.plan(nil, old, old, now); due || wait == 0 || wait > writes.RetryPause {
		t.Errorf("the next write is due now (%v) or in %s, want it in %s at most", due, wait, writes.RetryPause)
	}
	if _, due := s.plan(nil, old, old, now.Add(writes.RetryPause)); !due {
		t.Error("the status is taken to be as it was")
	}
}

func TestStatusIsNotWrittenToAnotherBindingOfTheName(t *testing.T) {
	scheme, binding := runtime.NewScheme(), fixture.Binding()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	cluster := fake.NewClientBuilder().WithScheme(scheme).WithObjects(binding).WithStatusSubresource(binding).Build()
	key := client.ObjectKeyFromObject(binding)
	written := func() *v1beta1.TargetCounts {
		var b v1beta1.TargetGroupBinding
		if err := cluster.Get(t.Context(), key, &b); err != nil {
			t.Fatal(err)
		}
		return b.Status.Targets
	}
	w := NewWriter(cluster, clock.RealClock{}, report.Reporter{})
	status := &v1beta1.TargetGroupBindingStatus{Targets: &v1beta1.TargetCounts{Summary: "1/1"}}
	if _, err := w.patch(t.Context(), key, "another", status); err == nil || written() != nil {
		t.Errorf("the status is %v, error %v; want none and an error", written(), err)
	}
	if _, err := w.patch(t.Context(), key, binding.UID, status); err != nil || written() == nil {
		t.Errorf("the status is %v, error %v; want it written", written(), err)
	}
}

func TestMayPassLeavesStatusesAlone(t *testing.T) {
	status := func(ready metav1.ConditionStatus, reason string) v1beta1.TargetGroupBindingStatus {
		return v1beta1.TargetGroupBindingStatus{Conditions: []metav1.Condition{{Type: v1beta1.ConditionReady, Status: ready, Reason: reason}}}
	}
	before, after := status(metav1.ConditionTrue, v1beta1.ReasonReconciled), status(metav1.ConditionFalse, v1beta1.ReasonReconciling)
	if !mayPass(before, after) {
		t.Error("calls under way do not pass")
	}
	if got := after.Conditions[0].Reason; got != v1beta1.ReasonReconciling {
		t.Errorf("the status that is written says %s", got)
	}
}
