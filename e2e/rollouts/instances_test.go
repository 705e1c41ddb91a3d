// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package rollouts

import (
	"context"
	"errors"
	"fmt"
	"path"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

func TestNodesComeAndGoAsTargetsOfAnInstanceBinding(t *testing.T) {
	app := suite.NewInstanceApp("instances")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	all := []string{"node-1", "node-2", "node-3"}
	bed.AwaitHealthy(t, app, nodeKeys(t, app, all...)...)
	rest := nodeKeys(t, app, "node-1", "node-3")
	stop := bed.UnderLoad(t, app)

	excluded := func(node *corev1.Node) { node.Labels[corev1.LabelNodeExcludeBalancers] = "" }
	doomed := func(node *corev1.Node) {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule})
	}
	for name, edit := range map[string]func(*corev1.Node){
		"excluded by label": excluded, "tainted by the autoscaler": doomed, "tainted by Karpenter": suite.Disrupted,
	} {
		t.Run(name, func(t *testing.T) {
			giveBack := changeNode(t, "node-2", edit)
			bed.AwaitTargets(t, app, rest...)
			giveBack()
			bed.AwaitHealthy(t, app, nodeKeys(t, app, all...)...)
		})
	}
	t.Run("not selected", func(t *testing.T) {
		suite.Change(t, bed, bed.GetBinding(t, app), func(b *v1beta1.TargetGroupBinding) {
			b.Spec.NodeSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: corev1.LabelHostname, Operator: metav1.LabelSelectorOpNotIn, Values: []string{"node-2"}},
			}}
		})
		bed.AwaitTargets(t, app, rest...)
		suite.Change(t, bed, bed.GetBinding(t, app), func(b *v1beta1.TargetGroupBinding) { b.Spec.NodeSelector = nil })
		bed.AwaitHealthy(t, app, nodeKeys(t, app, all...)...)
	})
	t.Run("not ready", func(t *testing.T) {
		suite.Must(t, bed.Kubelet.SetNodeReady(t.Context(), "node-2", corev1.ConditionFalse))
		defer func() { suite.Must(t, bed.Kubelet.SetNodeReady(context.Background(), "node-2", corev1.ConditionTrue)) }()
		bed.AwaitTargets(t, app, rest...)
		suite.Must(t, bed.Kubelet.SetNodeReady(t.Context(), "node-2", corev1.ConditionTrue))
		bed.AwaitHealthy(t, app, nodeKeys(t, app, all...)...)
	})
	t.Run("odd", func(t *testing.T) {
		odd := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "odd"}, Spec: corev1.NodeSpec{ProviderID: "kind://odd", Unschedulable: true}}
		suite.Must(t, bed.Client.Create(t.Context(), odd))
		defer func() { suite.Must(t, bed.Client.Delete(context.Background(), odd)) }()
		suite.Eventually(t, "the event", func() error { return bed.WantEvent(t, app, app.Name, corev1.EventTypeWarning, "NodeSkipped") })
		suite.Must(t, bed.WantReason(t, app, v1beta1.ReasonReconciled))
		suite.Must(t, bed.WantHealthy(app, nodeKeys(t, app, all...)...))
	})
	stop()
	t.Run("added and removed", func(t *testing.T) {
		suite.Must(t, bed.Kubelet.AddNode(t.Context(), kubelet.Node{Name: "node-4", Zone: "eu-west-1b"}))
		suite.Must(t, bed.LaunchInstances(t.Context()))
		four := nodeKeys(t, app, append(all, "node-4")...)
		bed.AwaitHealthy(t, app, four...)
		suite.Must(t, bed.Kubelet.RemoveNode(t.Context(), "node-4"))
		bed.AwaitTargets(t, app, four[:3]...)
	})
	bed.DeleteBinding(t, app)
	suite.Must(t, bed.WantTargets(app))
}

// With externalTrafficPolicy Local all nodes are targets, and the load balancer finds out which of them have a pod.
func TestOnlyNodesWithAPodAreHealthyUnderLocalTrafficPolicy(t *testing.T) {
	app := suite.NewInstanceApp("local")
	app.Node = "node-1"
	app.Service = func(s *corev1.Service) {
		s.Spec.Type, s.Spec.ExternalTrafficPolicy = corev1.ServiceTypeNodePort, corev1.ServiceExternalTrafficPolicyLocal
	}
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	suite.Eventually(t, "one healthy node of three", func() error {
		status := bed.GetBinding(t, app).Status
		if status.Targets == nil || status.Targets.Healthy != 1 || status.Targets.Unhealthy != 2 {
			return fmt.Errorf("targets %+v", status.Targets)
		}
		return nil
	})
	lines, err := bed.AWS.ELB.Describe(app.TargetGroup, nodeTargets(t, app, "node-1"))
	suite.Must(t, err)
	if lines[0].State != state.Healthy {
		t.Errorf("the node with the pods is %s", lines[0].State)
	}
	stop := bed.UnderLoad(t, app)
	all := nodeKeys(t, app, "node-1", "node-2", "node-3")
	suite.Throughout(t, time.Second, "nodes without a pod went", func() error { return bed.WantTargets(app, all...) })
	t.Run("excluded by label", func(t *testing.T) {
		giveBack := changeNode(t, "node-2", func(node *corev1.Node) { node.Labels[corev1.LabelNodeExcludeBalancers] = "" })
		bed.AwaitTargets(t, app, all[0], all[2])
		giveBack()
		bed.AwaitTargets(t, app, all...)
	})
	t.Run("Karpenter is to replace the only one with pods", func(t *testing.T) {
		giveBack := changeNode(t, "node-1", suite.Disrupted)
		suite.Throughout(t, 3*time.Second, "it went before another one was healthy", func() error { return bed.WantTargets(app, all...) })
		giveBack()
		suite.Throughout(t, time.Second, "it went although Karpenter has changed its mind", func() error { return bed.WantTargets(app, all...) })
	})
	t.Run("not ready", func(t *testing.T) {
		suite.Must(t, bed.Kubelet.SetNodeReady(t.Context(), "node-3", corev1.ConditionFalse))
		defer func() { suite.Must(t, bed.Kubelet.SetNodeReady(context.Background(), "node-3", corev1.ConditionTrue)) }()
		bed.AwaitTargets(t, app, all[:2]...)
	})
	stop()
}

// What a pod says counts as long as its node answers.
func TestPodOnANodeThatDoesNotAnswerJoinsAsLastResort(t *testing.T) {
	const node = "node-2"
	tests := map[string]struct {
		status corev1.ConditionStatus
		others int32
		joins  bool
	}{
		"not ready":                {status: corev1.ConditionFalse},
		"unknown, others":          {status: corev1.ConditionUnknown, others: 1},
		"unknown, without another": {status: corev1.ConditionUnknown, joins: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			app := suite.NewApp(fmt.Sprintf("node-%s-%d", map[corev1.ConditionStatus]string{
				corev1.ConditionFalse: "false", corev1.ConditionUnknown: "unknown",
			}[tc.status], tc.others))
			app.Replicas, app.Node, app.ExplicitGate = tc.others, "node-1", true
			bed.Deploy(t, app)
			bed.AwaitRolled(t, app)
			late := app.Pod("late")
			late.Spec.NodeSelector[corev1.LabelHostname] = node
			late.Spec.Containers[0].Env = append(late.Spec.Containers[0].Env, corev1.EnvVar{Name: "READY", Value: "false"})
			bed.Create(t, late)
			suite.Eventually(t, "the late pod to run", func() error {
				suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(late), late))
				if _, ok := bed.Kubelet.App(late.Namespace, late.Name); !ok || late.Status.PodIP == "" {
					return fmt.Errorf("it is %s", late.Status.Phase)
				}
				return nil
			})
			suite.Must(t, bed.Kubelet.SetNodeReady(t.Context(), node, tc.status))
			defer func() { suite.Must(t, bed.Kubelet.SetNodeReady(context.Background(), node, corev1.ConditionTrue)) }()
			setReady(t, app, true, *late)
			key := suite.TargetOf(late.Status.PodIP)
			if tc.joins {
				bed.AwaitHealthy(t, app, key)
				return
			}
			suite.Eventually(t, "the late pod's containers to be ready", func() error {
				_, err := bed.MomentOf(late.UID, kubelet.ContainersReady)
				return err
			})
			suite.Throughout(t, 2*time.Second, "the pod's node does not answer", func() error {
				if bed.WantThere(t, app, []state.Key{key}) == nil {
					return errors.New("the pod was registered")
				}
				return nil
			})
			suite.Must(t, bed.Kubelet.SetNodeReady(t.Context(), node, corev1.ConditionTrue))
			suite.Eventually(t, "the pod to be registered", func() error { return bed.WantThere(t, app, []state.Key{key}) })
		})
	}
}

// The node goes on serving, but nobody can know: its pods leave where there are enough others, and stay where there are
// none.
func TestPodsOfALostNodeLeaveUnlessThereAreNoOthers(t *testing.T) {
	const lost = "node-3"
	alone, spread := suite.NewApp("lost-alone"), suite.NewApp("lost-spread")
	alone.Node = lost
	spread.Template = func(template *corev1.PodTemplateSpec) {
		template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: template.Labels},
		}}
	}
	var stops []func()
	for _, app := range []*testbed.App{alone, spread} {
		bed.Deploy(t, app)
		bed.AwaitRolled(t, app)
		bed.AwaitConverged(t, app)
		stops = append(stops, bed.UnderLoad(t, app))
	}
	var all, stay []state.Key
	for _, pod := range bed.Pods(t, spread) {
		all = append(all, suite.TargetOf(pod.Status.PodIP))
		if pod.Spec.NodeName != lost {
			stay = append(stay, suite.TargetOf(pod.Status.PodIP))
		}
	}
	bed.Kubelet.StopHeartbeat(lost)
	defer func() {
		_, err := bed.Kubelet.ResumeHeartbeat(context.Background(), lost)
		suite.Must(t, err)
	}()
	bed.AwaitTargets(t, spread, stay...) // the node lifecycle controller waits some 50 s
	suite.Throughout(t, 3*time.Second, "a target went that was the last resort", func() error {
		return bed.WantServing(alone, int(alone.Replicas))
	})
	_, err := bed.Kubelet.ResumeHeartbeat(t.Context(), lost)
	suite.Must(t, err)
	bed.AwaitHealthy(t, spread, all...)
	bed.AwaitConverged(t, alone)
	for _, stop := range stops {
		stop()
	}
	bed.AssertOnlyLeaversDeregistered(t, alone)
}

// An instance dies and its Node object is deleted. The pods' objects stay behind, as ready as before, until pod garbage
// collection finds them.
func TestPodsOfADeletedNodeLeaveAtOnce(t *testing.T) {
	const lost = "node-lost"
	suite.Must(t, bed.Kubelet.AddNode(t.Context(), kubelet.Node{Name: lost, Zone: "eu-west-1b"}))
	suite.Must(t, bed.LaunchInstances(t.Context()))
	app := suite.NewApp("deleted-node")
	app.Replicas, app.Node, app.ExplicitGate = 2, "node-1", true
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	stay := suite.KeysOf(bed.Pods(t, app), 8080)
	doomed := app.Pod("doomed")
	doomed.Spec.NodeSelector[corev1.LabelHostname] = lost
	bed.Create(t, doomed)
	suite.Eventually(t, "the pod on "+lost+" to be Ready", func() error {
		suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(doomed), doomed))
		if !testbed.IsReady(doomed) {
			return fmt.Errorf("it is %s", doomed.Status.Phase)
		}
		return nil
	})
	begun, key := time.Now(), suite.TargetOf(doomed.Status.PodIP)
	suite.Must(t, bed.Kubelet.RemoveNode(t.Context(), lost))
	if took := awaitCall(t, app, "DeregisterTargets", key, begun).Received.Sub(begun); took > 2*time.Second {
		t.Errorf("the target was deregistered %s after the node was deleted, want at once", took)
	}
	suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(doomed), doomed))
	bed.AwaitTargets(t, app, stay...)
	if doomed.DeletionTimestamp != nil {
		t.Error("the pod was deleted before its target went: the test proves nothing")
	}
}

// nodeKeys are the targets that the nodes are, at the node port of the app's Service.
func nodeKeys(t *testing.T, app *testbed.App, names ...string) []state.Key {
	t.Helper()
	var service corev1.Service
	suite.Must(t, bed.Client.Get(t.Context(), app.Key(), &service))
	var out []state.Key
	for _, name := range names {
		var node corev1.Node
		suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKey{Name: name}, &node))
		out = append(out, state.Key{ID: path.Base(node.Spec.ProviderID), Port: int(service.Spec.Ports[0].NodePort)})
	}
	return out
}

func nodeTargets(t *testing.T, app *testbed.App, names ...string) []state.Target {
	t.Helper()
	var out []state.Target
	for _, key := range nodeKeys(t, app, names...) {
		out = append(out, state.Target{Key: key})
	}
	return out
}

// changeNode edits a node until giveBack is called, or the test ends.
func changeNode(t *testing.T, name string, edit func(*corev1.Node)) (giveBack func()) {
	t.Helper()
	var before corev1.Node
	suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKey{Name: name}, &before))
	suite.Change(t, bed, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, edit)
	giveBack = func() {
		var now corev1.Node
		suite.Must(t, bed.Client.Get(context.Background(), client.ObjectKey{Name: name}, &now))
		patch := client.MergeFrom(now.DeepCopy())
		now.Labels, now.Spec.Taints = before.Labels, before.Spec.Taints
		suite.Must(t, bed.Client.Patch(context.Background(), &now, patch))
	}
	t.Cleanup(giveBack)
	return giveBack
}
