// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package faults

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/e2e/suite"
)

// Nobody answers the guard. The node goes all the same, and not before targetgate had a chance to come back.
func TestGuardLeavesAfterItsLongestWaitWhileTargetgateIsDown(t *testing.T) {
	const node, longestWait = "node-2", 8 * time.Second
	app := suite.NewInstanceApp("guarded-alone")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	guards := bed.GuardNodes(t, longestWait)
	guard := guards.On(t, node)
	bed.Targetgate.Kill()
	defer func() { suite.Must(t, bed.Targetgate.Restart(context.Background())) }()
	bed.Disrupt(t, node)
	defer suite.Change(t, bed, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, func(n *corev1.Node) { n.Spec.Taints = nil })
	suite.Must(t, bed.Evict(t, guard))
	if took := bed.AwaitGone(t, guard); took < longestWait || took > longestWait+4*time.Second {
		t.Errorf("the guard has stayed for %s, want %s", took, longestWait)
	}
}
