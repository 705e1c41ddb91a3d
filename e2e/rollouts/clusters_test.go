// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package rollouts

import (
	"fmt"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/targetgate/targetgate/e2e/emulator"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// A backup of one cluster is restored into a second one, with and without pods there. Neither takes out what the other has registered,
// both say so, and the mistake can be undone by deleting the second binding. (velero#9576)
func TestRestoredInAnotherCluster(t *testing.T) {
	const impatient = "--drift-interval=10s"
	bed.WithFlags(t, impatient)
	other := bed.StartOtherCluster(t, "dr")
	suite.Must(t, other.Targetgate.RestartWith(t.Context(), impatient))

	t.Run("tagged", func(t *testing.T) {
		app := suite.NewApp("restored-tagged")
		app.Balancer = func(s *emulator.Service) {
			s.Tags = map[string]string{"elbv2.k8s.aws/cluster": bed.ClusterName(), "ingress.k8s.aws/resource": "restored-tagged/web-web:80"}
		}
		bed.Deploy(t, app)
		bed.AwaitRolled(t, app)
		if err := other.Client.Create(t.Context(), restoredIn(t, other, app, 0).Binding()); !apierrors.IsForbidden(err) {
			t.Errorf("creating the second binding: %v, want it forbidden", err)
		}
	})
	t.Run("without pods", func(t *testing.T) { shareByMistake(t, other, 0) })
	t.Run("with pods", func(t *testing.T) { shareByMistake(t, other, 2) })

	incumbentIn(t, other)
	t.Run("by the incumbent", func(t *testing.T) { incumbentComes(t, other) })
	t.Run("from the incumbent", func(t *testing.T) { comeToIncumbent(t, other) })
}

// restoredIn is the app in the other cluster, without its binding.
func restoredIn(t *testing.T, other *suite.Bed, app *testbed.App, replicas int32) *testbed.App {
	t.Helper()
	copied := suite.NewApp(app.Name)
	copied.Unbound, copied.Gated, copied.Replicas = true, false, replicas
	other.Deploy(t, copied)
	copied.TargetGroup = app.TargetGroup
	return copied
}

func shareByMistake(t *testing.T, other *suite.Bed, replicas int32) {
	app := suite.NewApp(fmt.Sprintf("restored-%d", replicas))
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	bed.AwaitConverged(t, app)
	suite.Eventually(t, "the first cluster to know what was in the group before", func() error {
		if found := bed.GetBinding(t, app).Status.ForeignTargets; found == nil || !found.Complete {
			return fmt.Errorf("foreign targets: %v", found)
		}
		return nil
	})
	copied := restoredIn(t, other, app, replicas)
	before := v1beta1.ReasonRegisteredBefore
	if replicas == 0 { // by the flag --aws-vpc-id, the beds are in another VPC; where a cluster has targets, these show where it is
		before = v1beta1.ReasonOtherNetwork
	}
	begun := time.Now()
	stop := bed.UnderLoad(t, app)
	suite.Must(t, other.Client.Create(t.Context(), copied.Binding()))
	suite.Eventually(t, "the second cluster's condition", func() error {
		return wantForeign(other.GetBinding(t, copied), before, app.Replicas)
	})
	if replicas > 0 {
		suite.Eventually(t, "the first cluster's condition", func() error {
			return wantForeign(bed.GetBinding(t, app), v1beta1.ReasonOtherOwner, replicas)
		})
	}
	suite.Must(t, bed.Roll(t.Context(), app, "2", nil))
	bed.AwaitRolled(t, app)
	other.Targetgate.Kill()
	suite.Must(t, other.Targetgate.Restart(t.Context()))
	const long = 25 * time.Second // two looks for drift, and confirmation
	live := suite.KeysOf(bed.Pods(t, app), 8080)
	suite.Throughout(t, long, "the first cluster's targets went", func() error { return bed.WantThere(t, app, live) })
	theirs := suite.KeysOf(other.Pods(t, copied), 8080)
	other.DeleteBinding(t, copied)
	bed.AwaitTargets(t, app, live...)
	stop()
	own := map[string]func(state.Key) bool{
		bed.AccessKey():   func(k state.Key) bool { return !slices.Contains(theirs, k) },
		other.AccessKey(): func(k state.Key) bool { return slices.Contains(theirs, k) },
	}
	for _, call := range bed.CallsSince(app, "DeregisterTargets", begun) {
		for _, target := range call.Targets {
			if !own[call.Principal](target) {
				t.Errorf("%s: %s deregistered %s of the other cluster", call.Received.Sub(begun), call.Principal, target)
			}
		}
	}
	suite.Eventually(t, "the first cluster's condition to go", func() error {
		if c := apimeta.FindStatusCondition(bed.GetBinding(t, app).Status.Conditions, v1beta1.ConditionForeignTargets); c != nil {
			return fmt.Errorf("%s: %s", c.Reason, c.Message)
		}
		return nil
	})
}

func wantForeign(binding *v1beta1.TargetGroupBinding, reason string, count int32) error {
	c := apimeta.FindStatusCondition(binding.Status.Conditions, v1beta1.ConditionForeignTargets)
	if c == nil {
		return fmt.Errorf("no condition: %v", binding.Status)
	}
	if n := len(binding.Status.ForeignTargets.Targets[reason]); c.Reason != reason || n != int(count) {
		return fmt.Errorf("%d targets for %s, and %s: %s", n, reason, c.Reason, c.Message)
	}
	return nil
}
