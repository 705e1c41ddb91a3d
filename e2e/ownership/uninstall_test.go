// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package ownership

import (
	"testing"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// The chart's README promises both: after an uninstall a deleted binding stays with its targets, and an install ends that.
func TestBindingDeletedAfterAnUninstallWaitsForTheNextInstall(t *testing.T) {
	app := suite.NewApp("orphan")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	bed.AwaitConverged(t, app)
	live := suite.KeysOf(bed.Pods(t, app), 8080)
	bed.Targetgate.Stop()
	err := bed.Client.Delete(t.Context(), bed.GetBinding(t, app))
	left := &v1beta1.TargetGroupBinding{}
	getErr := bed.Client.Get(t.Context(), app.Key(), left)
	targetsErr := bed.WantTargets(app, live...)
	suite.Must(t, bed.Targetgate.Restart(t.Context())) // before anything fails: other tests need it
	suite.Must(t, err)
	if getErr != nil || left.DeletionTimestamp == nil || targetsErr != nil {
		t.Errorf("with nobody to finish it: binding deleted at %v (%v), targets: %v", left.DeletionTimestamp, getErr, targetsErr)
	}
	bed.AwaitBindingGone(t, app)
	suite.Must(t, bed.WantTargets(app))
}
