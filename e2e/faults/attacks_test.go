// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package faults

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/readiness"
)

// Somebody with small rights does what hurts most, and others deploy and lose pods as in quiet times. Each attack has a
// function that begins it; its end is the test's.

// maxMemory of targetgate under any attack, in MiB. The race detector's records come on top of that: on busy machines, connections that wait
// longer have made it 261 in all.
const (
	maxMemory = 256
	raceAdds  = 128
)

// The pod is never scheduled. To relabel it is the smallest right that there is.
func TestPodWithManyGatesHarmsNoOther(t *testing.T) {
	assertBystandersUnhurt(t, "gates", func(t *testing.T, namespace string) {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "many-gates"},
			Spec: corev1.PodSpec{
				NodeSelector: map[string]string{"there-is": "none"},
				Containers:   []corev1.Container{{Name: "none", Image: "none"}},
			},
		}
		for i := range 40_000 {
			gate := corev1.PodReadinessGate{ConditionType: readiness.GateFor(strconv.Itoa(i))}
			pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, gate)
		}
		suite.Must(t, bed.Client.Create(t.Context(), pod))
		t.Cleanup(func() { suite.Must(t, bed.Client.Delete(context.Background(), pod)) }) // at once: another try would have two of them
		repeat(t, 2*time.Second, func(ctx context.Context, turn int) error {
			patch := fmt.Appendf(nil, `{"metadata":{"labels":{"turn":"%d"}}}`, turn)
			answer := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod.Name}}
			answer.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
			return bed.Client.Patch(ctx, answer, client.RawPatch(types.MergePatchType, patch))
		})
	})
}

// assertBystandersUnhurt deploys eight pods in quiet, begins the attack, and does the same again. What the tests of other packages do
// meanwhile delays one of the two now and then: the attack has done harm when it did so three times, each held against a quiet of its own.
func assertBystandersUnhurt(t *testing.T, name string, attack func(t *testing.T, namespace string)) {
	t.Helper()
	for try := 1; !t.Failed(); try++ {
		var slower []string
		app := fmt.Sprintf("%s-%d", name, try)
		t.Run(app, func(t *testing.T) {
			quiet := deployAndLose(t, app+"-quiet")
			attack(t, bed.AttackersNamespace(t, app))
			slower = slowerEvents(t, quiet, deployAndLose(t, app+"-attacked"))
		})
		if len(slower) == 0 {
			break
		}
		if try == 3 {
			t.Errorf("took longer under attack, three times: %s", strings.Join(slower, ", "))
		}
	}
	assertMemory(t)
}

// slowerEvents are the events whose median is worse than in quiet.
func slowerEvents(t *testing.T, quiet, attacked map[string][]time.Duration) (slower []string) {
	t.Helper()
	for event, before := range quiet {
		after := attacked[event]
		t.Logf("%s: median %s; under attack %s", event, median(before), median(after))
		if median(after) > median(before)*3/2+noise {
			slower = append(slower, event)
		}
	}
	return slower
}

const gateOpened = "registered -> Ready"

// deployAndLose deploys an app, deletes three of its pods, and says how long it took: until each new pod was registered, until its
// gate was open, and until each deleted one was deregistered.
func deployAndLose(t *testing.T, name string) map[string][]time.Duration {
	t.Helper()
	app := suite.NewApp(name)
	app.Replicas = 8
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	out := map[string][]time.Duration{}
	list := bed.Pods(t, app)
	for i := range list {
		called := delays(t, "RegisterTargets", []string{app.TargetGroup}, &list[i], kubelet.ContainersReady)[0]
		containers, err := bed.MomentOf(list[i].UID, kubelet.ContainersReady)
		suite.Must(t, err)
		ready, err := bed.MomentOf(list[i].UID, kubelet.Ready)
		suite.Must(t, err)
		out[registered] = append(out[registered], called)
		out[gateOpened] = append(out[gateOpened], ready.Sub(containers.Add(called)))
	}
	for i := range 3 {
		bed.DeletePod(t, &list[i])
		suite.Eventually(t, "the pod to leave", func() error {
			_, err := bed.MomentOf(list[i].UID, kubelet.DeletionSeen)
			return err
		})
		out[deregistered] = append(out[deregistered],
			delays(t, "DeregisterTargets", []string{app.TargetGroup}, &list[i], kubelet.DeletionSeen)...)
	}
	return out
}

// repeat does something at once and then every so often until the end of the test.
func repeat(t *testing.T, every time.Duration, do func(ctx context.Context, turn int) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	go func() {
		defer close(ended)
		for turn := 0; ; turn++ {
			if err := do(ctx, turn); err != nil && ctx.Err() == nil {
				t.Errorf("turn %d of the attack: %v", turn, err)
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(every):
			}
		}
	}()
}

// assertMemory wants the most memory that targetgate has had since its start within bounds.
func assertMemory(t *testing.T) {
	t.Helper()
	peak, most := bed.PeakMemory(t), maxMemory
	t.Logf("targetgate has had %d MiB", peak)
	if bed.DetectsRaces(t) {
		most += raceAdds
	}
	if peak > most {
		t.Errorf("targetgate has had %d MiB, want at most %d", peak, most)
	}
}
