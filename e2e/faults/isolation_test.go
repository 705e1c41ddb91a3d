// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package faults

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Rule 8: 200 bindings, and the group of one hangs on every call. All of them are bound to the same few pods, so that
// each pod that is replaced gives 200 measurements. The budget is out of the way, and a single worker looks at the
// bindings: were it to wait for the one that hangs, all others would wait with it.
func TestHangingGroupDelaysNoOther(t *testing.T) {
	withoutBudget(t)
	app := suite.NewApp("hung")
	app.Gated, app.PreStopSeconds = false, 0
	app.HealthCheck = state.HealthCheck{Interval: 300, Path: "/healthz"} // 200 groups check each pod
	bed.Deploy(t, app)
	others := bindAgain(t, app, 199)
	bed.AwaitRolled(t, app)
	awaitInAll(t, "RegisterTargets", append(others, app.TargetGroup), bed.Pods(t, app))

	calm := replacePods(t, app, others)
	heal := bed.AWS.Inject(wire.Fault{TargetGroup: app.TargetGroup, Hang: 30 * time.Second})
	defer heal()
	suite.InOneOfThree(t, "others to be as fast while one group hangs", func() (isAsFast bool) {
		hung := replacePods(t, app, others)
		isAsFast = true
		for event, before := range calm {
			after := hung[event]
			t.Logf("%s: median %s, slowest %s; while one hangs %s, %s", event,
				median(before), slices.Max(before), median(after), slices.Max(after))
			if median(after) > median(before)*3/2+noise || slices.Max(after) > slices.Max(before)*3/2+2*noise {
				isAsFast = false
			}
		}
		return isAsFast
	})
}

// noise is what a busy machine may add. What a call that hangs would add is 15 s and more.
const noise = 500 * time.Millisecond

// withoutBudget has neither AWS nor targetgate limit calls, and one worker instead of 16, until the end of the test.
func withoutBudget(t *testing.T) {
	t.Helper()
	bed.AWS.SetLimits(wire.Limits{})
	t.Cleanup(func() {
		awaitNoBindings(t) // of this test: deregistering 200 times would use up the budget of the next one
		bed.AWS.SetLimits(wire.DefaultLimits())
		suite.Must(t, bed.Targetgate.RestartWith(context.Background()))
	})
	suite.Must(t, bed.Targetgate.RestartWith(t.Context(),
		"--aws-api-throttle=Elastic Load Balancing v2:.*=10000:10000", "--targetgroupbinding-max-concurrent-reconciles=1"))
}

func awaitNoBindings(t *testing.T) {
	t.Helper()
	suite.Eventually(t, "the bindings to be gone", func() error {
		var list v1beta1.TargetGroupBindingList
		if err := bed.Client.List(context.Background(), &list, client.InNamespace("hung")); err != nil {
			return err
		}
		if n := len(list.Items); n > 0 {
			return fmt.Errorf("%d are left", n)
		}
		return nil
	})
}

// bindAgain binds the app's Service to n more target groups.
func bindAgain(t *testing.T, app *testbed.App, n int) []string {
	t.Helper()
	groups := make([]string, n)
	var creations errgroup.Group
	creations.SetLimit(16)
	for i := range groups {
		creations.Go(func() (err error) {
			binding := app.Binding()
			binding.Name = fmt.Sprintf("%s-%03d", app.Name, i)
			if groups[i], _, err = bed.AWS.CreateService(binding.Name, emulator.Service{HealthCheck: app.HealthCheck}); err != nil {
				return err
			}
			binding.Spec.TargetGroupARN = groups[i]
			return bed.Client.Create(t.Context(), binding)
		})
	}
	suite.Must(t, creations.Wait())
	return groups
}

const (
	deregistered = "pod deleted -> deregistered"
	registered   = "containers ready -> registered"
)

// replacePods deletes two pods, one after the other, and returns how long it took in each of the groups until the pod
// was deregistered and the one in its place registered.
func replacePods(t *testing.T, app *testbed.App, groups []string) map[string][]time.Duration {
	t.Helper()
	out := map[string][]time.Duration{}
	for range 2 {
		old, leaver := suite.UIDs(bed.Pods(t, app)), bed.OldestPod(t, app)
		bed.DeletePod(t, leaver)
		bed.AwaitRolled(t, app)
		comer := bed.NewPods(t, app, old)[0]
		out[deregistered] = append(out[deregistered], delays(t, "DeregisterTargets", groups, leaver, kubelet.DeletionSeen)...)
		out[registered] = append(out[registered], delays(t, "RegisterTargets", groups, &comer, kubelet.ContainersReady)...)
	}
	return out
}

// delays are how long after the event in the pod's life AWS was called for it, in each of the groups.
func delays(t *testing.T, operation string, groups []string, pod *corev1.Pod, event kubelet.Event) []time.Duration {
	t.Helper()
	at, err := bed.MomentOf(pod.UID, event)
	suite.Must(t, err)
	var out []time.Duration
	for _, called := range awaitInAll(t, operation, groups, []corev1.Pod{*pod}) {
		out = append(out, called.Sub(at))
	}
	return out
}

// awaitInAll waits until the operation has been called for all of the pods in each of the groups, and returns when it
// was first.
func awaitInAll(t *testing.T, operation string, groups []string, list []corev1.Pod) map[string]time.Time {
	t.Helper()
	var out map[string]time.Time
	suite.Eventually(t, operation+" in all groups", func() error {
		out = map[string]time.Time{}
		for _, pod := range list {
			found := firstCalls(operation, pod.Status.PodIP)
			for _, group := range groups {
				at, ok := found[group]
				if !ok {
					return fmt.Errorf("%d of %d groups have %s", len(found), len(groups), pod.Status.PodIP)
				}
				out[group+pod.Status.PodIP] = at
			}
		}
		return nil
	})
	return out
}

// firstCalls are when the operation was first called for the address, by target group.
func firstCalls(operation, ip string) map[string]time.Time {
	out := map[string]time.Time{}
	for _, call := range bed.AWS.Calls(0) {
		if _, known := out[call.TargetGroup]; !known && call.Operation == operation && slices.Contains(call.Targets, suite.TargetOf(ip)) {
			out[call.TargetGroup] = call.Received
		}
	}
	return out
}

func median(d []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[len(sorted)/2]
}
