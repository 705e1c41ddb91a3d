// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targetgroup

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/budget"
)

func TestQueuedCallGivesWayToAMoreUrgentOne(t *testing.T) {
	by := func(after time.Duration) budget.Urgency {
		return budget.Urgency{Class: budget.ClassDeregister, Deadline: noon.Add(after)}
	}
	tests := map[string]struct {
		queued, asked budget.Urgency
		nothingDue    bool
		want          bool
	}{
		"an earlier deadline":                  {queued: by(time.Minute), asked: by(time.Second), want: true},
		"a more urgent class":                  {queued: budget.ClassOther.Now(), asked: budget.ClassDeregister.Now(), want: true},
		"the same":                             {queued: by(time.Minute), asked: by(time.Minute)},
		"a less urgent class":                  {queued: budget.ClassDeregister.Now(), asked: budget.ClassOther.Now()},
		"an earlier deadline, and nothing due": {queued: by(time.Minute), asked: by(time.Second), nothingDue: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := &Calls{Env: &Env{Context: t.Context(), Requeue: func(types.NamespacedName) {}}, Group: emptyGroup()}
			s, began := newSender[types.UID](time.Second, nil), make(chan context.Context, 1)
			waits := func(ctx context.Context, _ budget.Urgency) {
				began <- ctx
				<-ctx.Done()
			}
			s.pending = Registrations{one: "a"}
			s.send(c, tc.queued, waits, noon)
			queued := <-began
			if tc.nothingDue {
				s.pending = nil
			}
			s.send(c, tc.asked, waits, noon)
			if got := queued.Err() != nil; got != tc.want {
				t.Errorf("the queued call gave way: %t, want %t", got, tc.want)
			}
		})
	}
}
