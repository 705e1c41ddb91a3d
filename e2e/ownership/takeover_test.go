// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package ownership

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// elsewhere keeps targetgate from all apps. Its webhooks are served, as something's have to be.
const elsewhere = "--watch-namespace=default"

func TestTakeOverFromTheIncumbentTouchesNoTargetAndNeitherDoesTheWayBack(t *testing.T) {
	tests := map[string]*testbed.App{"alone": suite.NewApp("takeover"), "shared": suite.NewShared("takeover-shared")}
	for name, app := range tests {
		t.Run(name, func(t *testing.T) {
			bed.Deploy(t, app)
			bed.AwaitRolled(t, app)
			bed.AwaitConverged(t, app)
			live := suite.KeysOf(bed.Pods(t, app), 8080)
			foreign := suite.TargetOf("10.63.200.7")
			if name == "shared" {
				registerByHand(t, app, foreign)
				live = append(live, foreign)
			}
			bed.WithFlags(t, elsewhere)
			handToIncumbent(t, app)
			stop := bed.UnderLoad(t, app)
			taken := time.Now()
			suite.Must(t, bed.Targetgate.RestartWith(t.Context()))
			suite.Eventually(t, "the take-over", func() error {
				if left := checkpoints(bed.GetBinding(t, app)); len(left) > 0 {
					return fmt.Errorf("annotations %v are left", left)
				}
				return bed.WantReason(t, app, v1beta1.ReasonReconciled)
			})
			const long = 7 * time.Second // strangers would go after 5 s
			suite.Throughout(t, long, "targets changed", func() error { return bed.WantTargets(app, live...) })
			bed.AssertUntouched(t, app, taken)
			bed.Targetgate.Stop()
			assertIncumbentFindsItsWay(t, app)
			suite.Must(t, bed.WantTargets(app, live...))
			suite.Must(t, bed.Targetgate.Restart(t.Context()))
			stop()
		})
	}
}

// The incumbent has registered the pods and written their conditions, and leaves before they are healthy.
func TestRolloutIsTakenOverHalfWay(t *testing.T) {
	app := suite.NewApp("halfway")
	app.Replicas, app.ExplicitGate = 0, true
	app.Env = map[string]string{"HEALTH_STATUS": "503"}
	bed.Deploy(t, app)
	bed.WithFlags(t, elsewhere)
	suite.Must(t, bed.Scale(t.Context(), app, 3))
	bed.AwaitContainersReady(t, app)
	registerByHand(t, app, suite.KeysOf(bed.Pods(t, app), 8080)...)
	for _, pod := range bed.Pods(t, app) {
		patch := client.StrategicMergeFrom(pod.DeepCopy())
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: app.Gate(), Status: corev1.ConditionFalse, Reason: "Elb.RegistrationInProgress", Message: "Target registration is in progress",
		})
		suite.Must(t, bed.Client.Status().Patch(t.Context(), &pod, patch))
	}
	taken := time.Now()
	suite.Must(t, bed.Targetgate.RestartWith(t.Context()))
	suite.Eventually(t, "a reading of the group", func() error { return bed.WantCall(app, "DescribeTargetHealth", taken) })
	for _, pod := range bed.Pods(t, app) {
		handle, _ := bed.Kubelet.App(app.Name, pod.Name)
		handle.SetHealth(200)
	}
	bed.AwaitRolled(t, app)
	bed.AssertUntouched(t, app, taken)
}

// handToIncumbent leaves of the app what the incumbent would have written: no status but the generation, checkpoints, and
// a record in another order.
func handToIncumbent(t *testing.T, app *testbed.App) {
	t.Helper()
	binding := bed.GetBinding(t, app)
	before := client.MergeFrom(binding.DeepCopy())
	binding.Status = v1beta1.TargetGroupBindingStatus{ObservedGeneration: &binding.Generation}
	suite.Must(t, bed.Client.Status().Patch(t.Context(), binding, before))
	suite.Change(t, bed, bed.GetBinding(t, app), func(b *v1beta1.TargetGroupBinding) {
		b.Annotations = map[string]string{
			v1beta1.CheckpointAnnotation: "kFbCNaBzcf5yCVNbVvL5mjZc1UcY2QWJ/checkpoint", v1beta1.CheckpointTimestampAnnotation: "1784000000",
			"example.com/theirs": "stays",
		}
	})
	if !binding.Spec.MultiClusterTargetGroup {
		return
	}
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: app.Name, Name: suite.RecordOf(app).Name}}
	suite.Must(t, bed.Client.Delete(t.Context(), record.DeepCopy()))
	var text []string
	for _, key := range suite.KeysOf(bed.Pods(t, app), 8080) {
		text = append([]string{fmt.Sprintf("%s:%d", key.ID, key.Port)}, text...)
	}
	record.Data = map[string]string{"targets": strings.Join(text, ",")}
	suite.Must(t, bed.Client.Create(t.Context(), record))
}

func checkpoints(binding *v1beta1.TargetGroupBinding) []string {
	var out []string
	for name := range binding.Annotations {
		if name == v1beta1.CheckpointAnnotation || name == v1beta1.CheckpointTimestampAnnotation {
			out = append(out, name)
		}
	}
	return out
}

// assertIncumbentFindsItsWay fails when the incumbent, were it to start now, would miss something or be misled.
func assertIncumbentFindsItsWay(t *testing.T, app *testbed.App) {
	t.Helper()
	binding := bed.GetBinding(t, app)
	if diff := cmp.Diff([]string{"elbv2.k8s.aws/resources"}, binding.Finalizers); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"example.com/theirs": "stays"}, binding.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if g := binding.Status.ObservedGeneration; g == nil || *g != binding.Generation {
		t.Errorf("status.observedGeneration %v, want %d", g, binding.Generation)
	}
	for _, pod := range bed.Pods(t, app) {
		if suite.GateOf(&pod, app) != corev1.ConditionTrue {
			t.Errorf("the gate of pod %s is %q", pod.Name, suite.GateOf(&pod, app))
		}
	}
	if binding.Spec.MultiClusterTargetGroup {
		bed.AwaitRecord(t, app, suite.KeysOf(bed.Pods(t, app), 8080)...)
	}
}
