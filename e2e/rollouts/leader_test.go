// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package rollouts

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// deployStandby has pods run of which none is ready.
func deployStandby(t *testing.T, name string, replicas int32) (*testbed.App, []corev1.Pod) {
	t.Helper()
	app := suite.NewApp(name)
	app.Gated, app.Replicas, app.Env = false, replicas, map[string]string{"READY": "false"}
	bed.Deploy(t, app)
	suite.Eventually(t, "pods to run", func() error {
		list := bed.Pods(t, app)
		for i := range list {
			if _, ok := bed.Kubelet.App(app.Name, list[i].Name); !ok || list[i].Status.PodIP == "" {
				return fmt.Errorf("%s does not run", list[i].Name)
			}
		}
		if len(list) < int(replicas) {
			return fmt.Errorf("%d pods", len(list))
		}
		return nil
	})
	return app, bed.Pods(t, app)
}

// Rule 6: pods that were never ready together are no loss to each other. Of several, one is ready at a time: a failover, and one back.
func TestFailoverOfALeaderByReadinessProbe(t *testing.T) {
	for _, replicas := range []int32{3, 10} {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			app, pods := deployStandby(t, fmt.Sprintf("standby%d", replicas), replicas)
			setReady(t, app, true, pods[0])
			bed.AwaitHealthy(t, app, suite.TargetOf(pods[0].Status.PodIP))
			stop := bed.Load(t, app, 100)
			for _, over := range [][2]int{{0, 1}, {1, 0}} {
				former, next := pods[over[0]], pods[over[1]]
				setReady(t, app, false, former)
				setReady(t, app, true, next)
				bed.AwaitHealthy(t, app, suite.TargetOf(next.Status.PodIP))
				suite.Eventually(t, "the former leader to get no requests", func() error {
					handle, _ := bed.Kubelet.App(app.Name, former.Name)
					before := handle.Requests()
					time.Sleep(2 * time.Second)
					if n := handle.Requests() - before; n > 0 {
						return fmt.Errorf("it gets %d in 2 s", n)
					}
					return nil
				})
			}
			t.Log(stop())
		})
	}
}

// A mass failure is a loss, and the condition and events say which pods stay; without the valve they go.
func TestPodsThatServedTogetherStay(t *testing.T) {
	for _, off := range []string{"", "binding", "service"} {
		t.Run("off by "+off, func(t *testing.T) {
			app := suite.NewApp("valve" + off)
			without := map[string]string{v1beta1.MinReadyPercentAnnotation: "0"}
			switch off {
			case "binding":
				app.Change = func(b *v1beta1.TargetGroupBinding) { b.Annotations = without }
			case "service":
				app.Service = func(s *corev1.Service) { s.Annotations = without }
			}
			bed.Deploy(t, app)
			bed.AwaitRolled(t, app)
			bed.AwaitConverged(t, app)
			list, begun := bed.Pods(t, app), time.Now()
			setReady(t, app, false, list...)
			if off != "" {
				awaitOut(t, app, begun.Add(5*time.Second), list...) // and 5 s for the probes
				return
			}
			suite.Eventually(t, "the condition to name the pods", func() error {
				kept := apimeta.FindStatusCondition(bed.GetBinding(t, app).Status.Conditions, v1beta1.ConditionTargetsKept)
				for i := range list {
					if kept == nil || !strings.Contains(kept.Message, list[i].Name) {
						return fmt.Errorf("%s is not in %+v", list[i].Name, kept)
					}
					if err := bed.WantEvent(t, app, list[i].Name, corev1.EventTypeWarning, "TargetKept"); err != nil {
						return err
					}
				}
				return nil
			})
			suite.Must(t, bed.WantServing(app, len(list)))
			setReady(t, app, true, list...)
			suite.Eventually(t, "the condition to go", func() error {
				if kept := apimeta.FindStatusCondition(bed.GetBinding(t, app).Status.Conditions, v1beta1.ConditionTargetsKept); kept != nil {
					return fmt.Errorf("%+v", kept)
				}
				return nil
			})
		})
	}
}

// Rule 40, while a rollout hangs: somebody takes a pod out by its labels, to look at it, and then all.
func TestPodsWhoseLabelsWereChangedLeave(t *testing.T) {
	app := suite.NewApp("relabelled")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	bed.AwaitConverged(t, app)
	list := bed.Pods(t, app)
	suite.Must(t, bed.Roll(t.Context(), app, "v2", map[string]string{"READY": "false"}))
	for _, pods := range [][]corev1.Pod{list[:1], list[1:]} {
		begun := time.Now()
		for i := range pods {
			suite.Change(t, bed, &pods[i], func(p *corev1.Pod) { p.Labels["app"] = "debugged" })
		}
		awaitOut(t, app, begun, pods...)
	}
}
