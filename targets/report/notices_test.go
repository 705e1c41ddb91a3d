// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// A cluster may have hundreds of hybrid nodes and of bindings: an event for each pair pushes others out of the queue.
func TestNodesThatCannotBeTargetsAreToldInOneEvent(t *testing.T) {
	odd := map[string]string{"b": "Node b cannot be a target", "a": "Node a cannot be a target"}
	got := Notices(&v1beta1.TargetGroupBinding{}, plan.Plan{}, odd, nil, plan.Policy{})
	if n, note := len(got), got["odd 2 a"].Note; n != 1 || note != "Node a cannot be a target; the same goes for 1 more" {
		t.Errorf("%d events, the one of the first node says %q", n, note)
	}
}
