// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"testing"
	"time"
)

func TestDeletedNodesAreForgotten(t *testing.T) {
	d := &DeletedNodes{at: map[string]time.Time{}}
	d.Add("node-1", noon)
	d.Add("node-2", noon.Add(rememberDeleted-time.Second))
	if !d.has("node-1") || !d.has("node-2") {
		t.Error("forgotten too early")
	}
	d.Add("node-3", noon.Add(rememberDeleted))
	d.remove("node-3")
	if d.has("node-1") || !d.has("node-2") || d.has("node-3") {
		t.Errorf("remembered: %v, want node-2", d.at)
	}
}
