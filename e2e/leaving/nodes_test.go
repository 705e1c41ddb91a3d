// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package leaving

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

var balancers = []string{state.Application, state.Network}

// A machine is told to stop: its kubelet ends the pods, which nobody deletes, and says so in the node's condition alone. They are replaced
// only when they have ended, so their targets leave at once.
func TestPodsLeaveAtOnceWhenTheirNodeShutsDown(t *testing.T) {
	t.Parallel()
	const node = "node-shutdown"
	addNode(t, node)
	apps, doomed := []*testbed.App{}, map[*testbed.App]*corev1.Pod{}
	var stops []func()
	for _, balancer := range balancers {
		app := newApp("shutdown-"+balancer[:3], balancer)
		app.PreStopSeconds, app.Template = 12, oneOn(node)
		stops = append(stops, begin(t, app))
		apps, doomed[app] = append(apps, app), only(t, podsOn(t, app, node))
	}
	begun := time.Now()
	suite.Must(t, bed.Kubelet.BeginShutdown(t.Context(), node, kubelet.ShutdownGrace{Period: time.Minute}))
	for _, app := range apps {
		call := awaitDeregistration(t, app, doomed[app], begun)
		if took := call.Received.Sub(begun); took > 2*time.Second {
			t.Errorf("the target of %s was deregistered %s after its node began to shut down, want at once", doomed[app].Name, took)
		}
	}
	for _, app := range apps {
		awaitEnded(t, doomed[app])
		awaitReplaced(t, app)
	}
	suite.Must(t, bed.Kubelet.RemoveNode(t.Context(), node))
	for i, app := range apps {
		suite.Throughout(t, time.Second, "both pods to serve", func() error { return bed.WantServing(app, 2) })
		stops[i]()
	}
}

// EC2 takes a Spot instance back: two minutes after its notice the instance ends, whatever its pods ask for. They serve until they are
// replaced, or until the load balancer has just the time to stop sending.
func TestPodsLeaveBeforeTheirSpotInstanceEnds(t *testing.T) {
	const (
		node = "node-spot"
		lead = 95 * time.Second // what it leaves of the two minutes is what the test takes
	)
	bed.WithFlags(t, append(bed.Targetgate.Flags(), "--deregistration-lead-alb="+lead.String())...)
	addNode(t, node)
	replaced, lone := newApp("spot-replaced", state.Application), newApp("spot-lone", state.Application)
	replaced.PreStopSeconds, replaced.Template = 150, oneOn(node)
	lone.PreStopSeconds, lone.Replicas = 150, 1
	bed.Deploy(t, lone)
	bed.Create(t, lonePod(lone, node))
	stopReplaced := begin(t, replaced)
	awaitReady(t, lone, 2)
	stopLone := underLoad(t, lone)

	due := giveNotice(t, node).Add(-lead - margin)
	stays := evictFrom(t, lone, node, due)
	suite.Throughout(t, 3*time.Second, "all pods to serve", func() error {
		return errors.Join(bed.WantServing(replaced, 2), bed.WantServing(lone, 2))
	})
	known := suite.UIDs(bed.Pods(t, replaced))
	goes := evictFrom(t, replaced, node, due)
	awaitReplaced(t, replaced)
	goes.wantReplaced(t, &bed.NewPods(t, replaced, known)[0])
	called := stays.left(t)
	if early := stays.early(called); early > together && called.Sub(deletion(t, &stays.pod)) < searched {
		t.Errorf("the target of %s was deregistered %s before it was due, and nothing has replaced it", stays.pod.Name, early)
	}
	awaitStopped(t, stays, called)
	awaitStopped(t, goes, goes.left(t))
	suite.Must(t, bed.Kubelet.RemoveNode(t.Context(), node)) // sooner than EC2 does
	suite.Throughout(t, 2*time.Second, "others to serve", func() error {
		return errors.Join(bed.WantServing(replaced, 2), bed.WantServing(lone, 1))
	})
	stopReplaced()
	stopLone()
}

// evictFrom evicts the app's only pod on the node, which is due before that pod has slept.
func evictFrom(t *testing.T, app *testbed.App, node string, due time.Time) leaver {
	t.Helper()
	pod := only(t, podsOn(t, app, node))
	evict(t, pod)
	l := leaverOf(t, app, state.Application, pod)
	if !due.Before(l.deadline.Add(-time.Minute)) {
		t.Fatalf("pod %s sleeps until %s: the test proves nothing", pod.Name, l.deadline)
	}
	l.deadline = due
	return l
}

// Karpenter consolidates: its taint comes first, and its pods are replaced only when they are evicted, one after the other. Until then
// they stay.
func TestPodsStayOnANodeThatWillEnd(t *testing.T) {
	t.Parallel()
	const node = "node-consolidated"
	addNode(t, node)
	var apps []*testbed.App
	var stops []func()
	for _, balancer := range balancers {
		app := newApp("consolidated-"+balancer[:3], balancer)
		app.Template = allOn(node)
		apps, stops = append(apps, app), append(stops, begin(t, app))
	}
	bed.Disrupt(t, node)
	suite.Throughout(t, 3*time.Second, "both pods of each to serve", func() error {
		for _, app := range apps {
			if err := bed.WantServing(app, 2); err != nil {
				return err
			}
		}
		return nil
	})
	leavers := map[*testbed.App][]leaver{}
	for range 2 {
		for i, app := range apps {
			pods := slices.DeleteFunc(podsOn(t, app, node), func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
			evict(t, &pods[0])
			leavers[app] = append(leavers[app], leaverOf(t, app, balancers[i], &pods[0]))
		}
		for _, app := range apps {
			awaitReplaced(t, app)
		}
	}
	for i, app := range apps {
		bed.AwaitRolled(t, app)
		stops[i]()
		wantServed(t, app, leavers[app]...)
	}
	wantMargin(t)
}

// ownTaint keeps all pods from the nodes of addNode but those that tolerate it.
var ownTaint = corev1.Taint{Key: "for-one-test", Effect: corev1.TaintEffectNoSchedule}

// addNode adds a node until the end of the test, for pods of that test alone. The test may remove it before.
func addNode(t *testing.T, name string) {
	t.Helper()
	suite.Must(t, bed.AddNode(t.Context(), kubelet.Node{Name: name, Taints: []corev1.Taint{ownTaint}}))
	t.Cleanup(func() {
		err := bed.Client.Get(context.Background(), client.ObjectKey{Name: name}, &corev1.Node{})
		if !apierrors.IsNotFound(err) {
			suite.Must(t, errors.Join(err, bed.Kubelet.RemoveNode(context.Background(), name)))
		}
	})
	suite.Eventually(t, "node "+name+" to take pods", func() error { // a new node does not, until the node controller has seen it
		var node corev1.Node
		suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKey{Name: name}, &node))
		if len(node.Spec.Taints) > 1 {
			return fmt.Errorf("it has taints %v", node.Spec.Taints)
		}
		return nil
	})
}

// allOn has all pods go to the node of addNode while it takes them.
func allOn(node string) func(*corev1.PodTemplateSpec) {
	return func(template *corev1.PodTemplateSpec) {
		template.Spec.Tolerations = append(template.Spec.Tolerations, corev1.Toleration{Key: ownTaint.Key, Operator: corev1.TolerationOpExists})
		prefer(template, node)
	}
}

// oneOn has one pod go there, and no two to any node.
func oneOn(node string) func(*corev1.PodTemplateSpec) {
	return func(template *corev1.PodTemplateSpec) {
		allOn(node)(template)
		template.Spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: template.Labels},
			}},
		}
	}
}

// lonePod is one of the app on that node which no Deployment replaces.
func lonePod(app *testbed.App, node string) *corev1.Pod {
	pod := app.Pod("lone")
	pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
	pod.Spec.Tolerations = []corev1.Toleration{{Key: ownTaint.Key, Operator: corev1.TolerationOpExists}}
	return pod
}

// podsOn are the app's pods on the node.
func podsOn(t *testing.T, app *testbed.App, node string) []corev1.Pod {
	t.Helper()
	return slices.DeleteFunc(bed.Pods(t, app), func(p corev1.Pod) bool { return p.Spec.NodeName != node })
}

// only is the only one of the pods.
func only(t *testing.T, pods []corev1.Pod) *corev1.Pod {
	t.Helper()
	if len(pods) != 1 {
		t.Fatalf("%d pods are on the node, want 1", len(pods))
	}
	return &pods[0]
}

// giveNotice tells of EC2's notice as the termination handler does, and returns until when targetgate reckons with the instance: it ends
// 5 s later, which seeing the notice may have taken.
func giveNotice(t *testing.T, node string) (ends time.Time) {
	t.Helper()
	suite.Change(t, bed, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{
			Key: "aws-node-termination-handler/spot-itn", Value: "spot-itn-0123456789abcdef", Effect: corev1.TaintEffectNoSchedule,
		})
	})
	return time.Now().Add(115 * time.Second)
}

// awaitEnded waits until the pod has ended, and fails the test when somebody has deleted it.
func awaitEnded(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	suite.Eventually(t, "pod "+pod.Name+" to end", func() error {
		suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod))
		if pod.DeletionTimestamp != nil {
			t.Fatalf("pod %s was deleted: the test proves nothing", pod.Name)
		}
		if pod.Status.Phase != corev1.PodSucceeded {
			return fmt.Errorf("it is %s", pod.Status.Phase)
		}
		return nil
	})
}

// awaitStopped waits until the load balancer, after the call, sends the leaver no more requests.
func awaitStopped(t *testing.T, l leaver, called time.Time) {
	t.Helper()
	key := suite.TargetOf(l.pod.Status.PodIP)
	suite.Eventually(t, "the load balancer to stop sending to "+l.pod.Name, func() error {
		for _, event := range bed.AWS.Journal(0) {
			if event.Target.Key == key && event.Kind == state.RoutingStopped && event.Time.After(called) {
				return nil
			}
		}
		return errors.New("it sends")
	})
}
