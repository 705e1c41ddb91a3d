//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"fmt"
	"testing"

	"github.com/targetgate/targetgate/e2e/suite"
)

// Rule 33: a tool that replaces the whole binding takes its finalizer off, and deletes it before that is back.
func TestABindingThatIsReplacedAndDeletedLeavesNoTargets(t *testing.T) {
	app := suite.NewApp("replaced")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	bed.AwaitConverged(t, app)
	binding := bed.GetBinding(t, app)
	binding.Finalizers = nil // the same manifest, put
	suite.Must(t, bed.Client.Update(t.Context(), binding))
	suite.Must(t, bed.Client.Delete(t.Context(), binding))
	suite.Eventually(t, "its targets to be deregistered", func() error {
		if left := bed.RegisteredTargets(t, app); len(left) > 0 {
			return fmt.Errorf("%v are registered", left)
		}
		return nil
	})
}
