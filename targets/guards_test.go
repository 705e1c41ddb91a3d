// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/targetgate/targetgate/aws/elbv2"
	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/guards"
)

const ownNamespace = "targetgate-system"

var guarded, staying = elbv2.Target{ID: "i-01", Port: nodePort}, elbv2.Target{ID: "i-02", Port: nodePort}

// inGuardedBed is inInstanceBed with two healthy nodes, the first with a guard.
func inGuardedBed(t *testing.T, test func(b *bed), more ...client.Object) {
	t.Helper()
	guard := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ownNamespace, Name: "guard", UID: "guard", Labels: map[string]string{guards.Label: guards.Enabled}},
		Spec:       corev1.PodSpec{NodeName: "node-1"},
	}
	inInstanceBed(t, func(b *bed) {
		b.Namespace = ownNamespace
		b.begin(b.calls.Context)
		b.showGuard()
		b.run(5*time.Second, webKey)
		b.aws.SetHealth(testARN, guarded, healthy)
		b.aws.SetHealth(testARN, staying, healthy)
		b.run(time.Minute)
		test(b)
	}, append(more, guard, newNode("node-1", "i-01", corev1.ConditionTrue), newNode("node-2", "i-02", corev1.ConditionTrue))...)
}

func (b *bed) guardPod() *corev1.Pod {
	b.t.Helper()
	var pod corev1.Pod
	b.must(b.cluster.Get(b.t.Context(), client.ObjectKey{Namespace: ownNamespace, Name: "guard"}, &pod))
	return &pod
}

// showGuard has the watch show the guard.
func (b *bed) showGuard() {
	b.t.Helper()
	b.guards.FollowPods(handler.Funcs{}).Create(b.t.Context(), event.CreateEvent{Object: b.guardPod()}, nil)
}

// taint has Karpenter begin to end the guarded node.
func (b *bed) taint() {
	b.t.Helper()
	var node corev1.Node
	b.must(b.cluster.Get(b.t.Context(), client.ObjectKey{Name: "node-1"}, &node))
	node.Spec.Taints = []corev1.Taint{{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule}}
	b.must(b.cluster.Update(b.t.Context(), &node))
	b.guards.FollowNodes(handler.Funcs{}).Update(b.t.Context(), event.UpdateEvent{ObjectOld: &node, ObjectNew: &node}, nil)
}

// wantGuard has the bindings run, and then wants the guard to have been told that, as status and reason.
func (b *bed) wantGuard(after time.Duration, want string, keys ...types.NamespacedName) {
	b.t.Helper()
	b.run(after, keys...)
	got := ""
	if c := readiness.Condition(b.guardPod(), readiness.MayLeave); c != nil {
		got = string(c.Status) + " " + c.Reason
	}
	if got != want {
		b.t.Errorf("after %s the guard was told %q, want %q; targets %v", after, got, want, b.targets())
	}
}

const (
	targetsLeft = "False " + readiness.ReasonTargetsLeft
	nodeDrained = "True " + readiness.ReasonNodeDrained
)

// The deregistration delay is 300 s. Until then, a reading will hardly be news.
func TestGuardMayLeaveWhenTheNodeHasDrained(t *testing.T) {
	inGuardedBed(t, func(b *bed) {
		b.wantGuard(0, "")
		b.taint()
		b.wantGuard(5*time.Second, targetsLeft, webKey)
		readings := b.readings()
		b.wantGuard(4*time.Minute, targetsLeft)
		if n := b.readings() - readings; n > 9 {
			t.Errorf("%d readings in 4 minutes while the target drained, want one every 30 s", n)
		}
		b.run(51 * time.Second)
		b.aws.Forget(testARN, guarded)
		b.wantGuard(10*time.Second, nodeDrained)
		if n := b.readings() - readings; n > 15 {
			t.Errorf("%d readings, want one every 30 s and a few at the end", n)
		}
		if state := b.targets()[staying.String()]; state != elbv2.StateHealthy {
			t.Errorf("the other node is %q", state)
		}
	})
}

// Without a guard, draining targets are nobody's business.
func TestDrainingNodesAreNotReadMoreOftenWithoutAGuard(t *testing.T) {
	inGuardedBed(t, func(b *bed) {
		b.guards.FollowPods(handler.Funcs{}).Delete(t.Context(), event.DeleteEvent{Object: b.guardPod()}, nil)
		b.taint()
		b.run(5*time.Second, webKey)
		readings := b.readings()
		b.run(time.Hour)
		if n := b.readings() - readings; n > 15 {
			t.Errorf("%d readings in an hour, want one every 4 to 5 minutes", n)
		}
	})
}

func TestGuardWaitsForAllBindingsOfTypeInstance(t *testing.T) {
	const otherARN = testARN + "0"
	other := newBinding()
	other.Name, other.UID, other.Spec.TargetGroupARN = "other", "other", otherARN
	otherKey := client.ObjectKeyFromObject(other)
	inGuardedBed(t, func(b *bed) {
		var binding = b.binding()
		b.must(b.cluster.Get(t.Context(), otherKey, binding))
		binding.Spec.TargetType = b.binding().Spec.TargetType
		b.must(b.cluster.Update(t.Context(), binding))
		group := testGroup()
		group.TargetGroupArn = aws.String(otherARN)
		b.aws.AddGroup(group)
		b.run(10*time.Second, otherKey)
		b.aws.SetHealth(otherARN, staying, healthy)
		b.run(10*time.Second, otherKey)
		b.taint()
		b.wantGuard(10*time.Second, targetsLeft, webKey, otherKey)
		b.aws.Forget(testARN, guarded)
		b.wantGuard(6*time.Minute, targetsLeft)
		b.aws.Forget(otherARN, guarded)
		b.wantGuard(10*time.Second, nodeDrained) // it should have drained before: a reading is due every 5 s
	}, other)
}

// A targetgate that begins in between knows nothing before its first pass, nor before it has read all groups, nor when a call was made.
func TestGuardIsAnsweredAfterARestart(t *testing.T) {
	inGuardedBed(t, func(b *bed) {
		b.taint()
		b.wantGuard(10*time.Second, targetsLeft, webKey)
		b.aws.Before = func(context.Context, fakeelbv2.Call) error { return errors.New("no answer") }
		b.due = nil
		b.begin(b.calls.Context)
		b.showGuard()
		b.wantGuard(time.Minute, targetsLeft)
		b.wantGuard(5*time.Minute, targetsLeft, webKey)
		b.aws.Before = nil
		b.wantGuard(time.Minute, targetsLeft)
		b.aws.Forget(testARN, guarded) // long before the deregistration delay after the new process's own call is over
		b.wantGuard(35*time.Second, nodeDrained)
	})
}

// A guard that comes late finds out all the same, though no reading was due before it came.
func TestGuardThatComesLateMayLeaveWhenTheNodeHasDrained(t *testing.T) {
	inGuardedBed(t, func(b *bed) {
		b.DriftInterval = time.Hour
		b.guards.FollowPods(handler.Funcs{}).Delete(t.Context(), event.DeleteEvent{Object: b.guardPod()}, nil)
		b.taint()
		b.run(10*time.Second, webKey)
		b.showGuard()
		b.wantGuard(10*time.Second, targetsLeft)
		b.run(280 * time.Second)
		b.aws.Forget(testARN, guarded)
		b.wantGuard(20*time.Second, nodeDrained)
	})
}

func TestGuardOfANodeWithoutTargetsMayLeaveAtOnce(t *testing.T) {
	inGuardedBed(t, func(b *bed) {
		binding := b.binding()
		binding.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "none"}}
		b.must(b.cluster.Update(t.Context(), binding))
		b.run(time.Second, webKey)
		b.run(10 * time.Minute)
		b.aws.Forget(testARN, guarded)
		b.aws.Forget(testARN, staying)
		b.run(10 * time.Minute)
		b.taint()
		b.wantGuard(4*time.Second, nodeDrained, webKey)
	})
}

// A binding of which nothing was ever read, because of its role for one, delays no node of the cluster for long.
func TestGuardDoesNotWaitForABindingThatNeverWorked(t *testing.T) {
	other := newBinding()
	other.Name, other.UID, other.Spec.TargetGroupARN = "other", "other", testARN+"0"
	inGuardedBed(t, func(b *bed) {
		var binding = b.binding()
		b.must(b.cluster.Get(t.Context(), client.ObjectKeyFromObject(other), binding))
		binding.Spec.TargetType = b.binding().Spec.TargetType
		b.must(b.cluster.Update(t.Context(), binding))
		b.aws.Before = func(_ context.Context, call fakeelbv2.Call) error {
			if call.Group == testARN+"0" {
				return errors.New("no answer")
			}
			return nil
		}
		b.run(5*time.Minute, client.ObjectKeyFromObject(other))
		b.taint()
		b.wantGuard(10*time.Second, targetsLeft, webKey)
		b.aws.Forget(testARN, guarded)
		b.wantGuard(5*time.Minute, nodeDrained)
	}, other)
}
