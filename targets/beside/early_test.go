// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package beside

import (
	"testing"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/targetgroup"
)

// The group of a binding that the incumbent works on is read, and no more.
func TestEarlyGroupCannotSend(t *testing.T) {
	e, binding := &EarlyGates{Subnets: targetgroup.NewSubnets(), Clock: clock.RealClock{}}, fixture.Binding()
	if e.of(client.ObjectKeyFromObject(binding), binding).group.Is(binding) {
		t.Error("the group could send")
	}
}
