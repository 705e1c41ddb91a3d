// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fakeelbv2 "github.com/targetgate/targetgate/targets/elbv2/fake"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

func TestRegistrarSaysReconcilingOnlyOfCallsThatLast(t *testing.T) {
	first, second := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
	inBed(t, func(b *bed) {
		b.settle()
		b.after(passing)
		b.aws.Before = func(_ context.Context, call fakeelbv2.Call) error {
			if call.Operation == "RegisterTargets" {
				time.Sleep(2 * passing)
			}
			return nil
		}
		b.must(b.cluster.Create(t.Context(), newSlice("web-2", second)))
		before := b.binding().ResourceVersion
		b.after(time.Second)
		b.after(passing - time.Millisecond)
		if got := b.binding().ResourceVersion; got != before {
			t.Error("the status was written although what has changed may pass")
		}
		b.after(time.Millisecond)
		if c := b.ready(); c.Status != metav1.ConditionFalse || c.Reason != v1beta1.ReasonReconciling {
			t.Errorf("while a call lasts Ready is %s %s, want False %s", c.Status, c.Reason, v1beta1.ReasonReconciling)
		}
		b.after(2 * passing)
		if c := b.ready(); c.Status != metav1.ConditionTrue {
			t.Errorf("after the call Ready is %s %s, want True", c.Status, c.Reason)
		}
	}, first, second, newSlice("web-1", first))
}
