// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"testing"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// The chart's README promises both: after an uninstall a deleted binding stays with its targets, and an install ends that.
func TestBindingDeletedAfterAnUninstallWaitsForTheNextInstall(t *testing.T) {
	app := newApp("orphan")
	deploy(t, app)
	awaitRolled(t, app)
	awaitConverged(t, app)
	live := keysOf(pods(t, app), 8080)
	bed.Targetgate.Stop()
	err := bed.Client.Delete(t.Context(), getBinding(t, app))
	left := &v1beta1.TargetGroupBinding{}
	getErr := bed.Client.Get(t.Context(), app.Key(), left)
	targetsErr := wantTargets(app, live...)
	must(t, bed.Targetgate.Restart(t.Context())) // before anything fails: other tests need it
	must(t, err)
	if getErr != nil || left.DeletionTimestamp == nil || targetsErr != nil {
		t.Errorf("with nobody to finish it: binding deleted at %v (%v), targets: %v", left.DeletionTimestamp, getErr, targetsErr)
	}
	awaitBindingGone(t, app)
	must(t, wantTargets(app))
}
