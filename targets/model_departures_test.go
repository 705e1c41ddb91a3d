// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// podShape is what a pod's template says.
type podShape struct {
	version string
	gated   bool          // admission gives it its gates
	sleep   time.Duration // the preStop sleep of its containers; 0 for a hook of another kind
	atOnce  bool          // its target is not kept until others replace it
	judged  bool          // somebody else has given it a gate, too
	lattice bool          // so has another load balancer, which never opens it
}

func shapeOf(s step) podShape {
	shape := podShape{version: fmt.Sprint(1 + s.b%2), gated: s.c%5 > 0}
	if !without("gatesOfOthers") {
		shape.judged, shape.lattice = s.c%3 == 0, s.c%17 == 0
	}
	return shape
}

func (s podShape) ownGrace() time.Duration { return s.sleep + modelGrace }

// containers are one that sleeps longer than the other, so that the shorter sleep counts, or one with a hook that runs a command.
func (s podShape) containers() []corev1.Container {
	if s.sleep == 0 {
		hook := corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sleep", "20"}}}
		return []corev1.Container{{Name: "app", Lifecycle: &corev1.Lifecycle{PreStop: &hook}}}
	}
	return []corev1.Container{sleeping("proxy", s.sleep+5*time.Second), sleeping("app", s.sleep)}
}

func sleeping(name string, sleep time.Duration) corev1.Container {
	hook := corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: int64(sleep.Seconds())}}
	return corev1.Container{Name: name, Lifecycle: &corev1.Lifecycle{PreStop: &hook}}
}

// createSleeper makes a pod that serves on for 25 to 60 s when it is deleted, mostly one whose target is kept until others replace it.
func createSleeper(m *model, s step) {
	shape := shapeOf(s)
	if !without("sleepers") {
		shape.sleep, shape.atOnce = time.Duration(25+s.b/6%36)*time.Second, s.c%8 == 0
	}
	m.createPod(s, shape)
}

// deletePod asks for the deletion of a pod with its own grace period.
func deletePod(m *model, s step) {
	m.withPod(s, func(pod *corev1.Pod) { m.deletePod(pod, m.pods[pod.UID].ownGrace()) })
}

// replacePod is a roll, or an eviction by its API: another pod takes the place of the one that is deleted.
func replacePod(m *model, s step) {
	m.withPod(s, func(pod *corev1.Pod) {
		if live(pod) {
			m.deletePod(pod, m.pods[pod.UID].ownGrace())
			m.replace(pod, s.b)
		}
	})
}

// replace makes a pod of the same template, where there is a name, an address and a node for it.
func (m *model) replace(pod *corev1.Pod, at int) {
	app, own := pod.Name[:2], m.pods[pod.UID]
	names, addresses := map[string]bool{}, map[string]bool{}
	for _, other := range listOf[*corev1.Pod](m.store) {
		names[other.Name], addresses[m.pods[other.UID].address] = true, true
	}
	for i := range modelNodes {
		node := nodeName(at + i)
		if o := stored[*corev1.Node](m.store, "", node); o == nil || len(o.Spec.Taints) > 0 || nodeReadyIn(o) != corev1.ConditionTrue {
			continue
		}
		for j := range 10 {
			name, address := fmt.Sprintf("%s-%d", app, j), fmt.Sprintf("10.0.%s.%d", app[1:], 1+j)
			if !names[name] && !addresses[address] {
				m.addPod(own.podShape, app, name, address, node)
				return
			}
		}
	}
}

// endNode begins a node's graceful shutdown, or cancels it.
func endNode(m *model, s step) {
	node := m.nodes[nodeName(s.a)]
	if s.b%3 == 0 {
		node.endsSince = time.Time{}
	} else if node.endsSince.IsZero() {
		node.endsSince = time.Now()
	}
}

// modelSpotNotice is how long after the notice of its interruption a Spot instance ends.
const modelSpotNotice = 2 * time.Minute

// modelSpotSeen is how much of that the registrar reckons with, as it sees the notice later.
const modelSpotSeen = modelSpotNotice - 5*time.Second

const (
	modelSpotTaint      = "aws-node-termination-handler/spot-itn"
	modelDisruptedTaint = "karpenter.sh/disrupted"
)

// noticeNode is the notice that a Spot instance will be interrupted.
func noticeNode(m *model, s step) {
	name := nodeName(s.a)
	if !hasTaint(stored[*corev1.Node](m.store, "", name), modelSpotTaint) {
		m.taint(name, modelSpotTaint)
		m.nodes[name].noticeAt = m.seenAt("Node")
	}
}

// drainNode is Karpenter, which taints a node and later deletes its pods.
func drainNode(m *model, s step) {
	name := nodeName(s.a)
	m.nodes[name].drainsAt = time.Now().Add(time.Duration(1+s.b%20) * time.Second)
	m.taint(name, modelDisruptedTaint)
}

// taint gives a node a taint, or takes all.
func (m *model) taint(node string, keys ...string) {
	edit(m.store, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, func(o *corev1.Node) {
		if len(keys) == 0 {
			o.Spec.Taints = nil
		}
		for _, key := range keys {
			o.Spec.Taints = append(slices.Clone(o.Spec.Taints), corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
		}
	})
}

func hasTaint(node *corev1.Node, key string) bool {
	return node != nil && slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

// seenAt is when the registrar sees the last change of a kind: each kind in order, so maybe with an earlier one.
func (m *model) seenAt(kind string) time.Time {
	m.cache.mu.Lock()
	defer m.cache.mu.Unlock()
	return m.cache.lastAt[kind]
}

// tickEnd is what becomes of a node that has a taint.
func (m *model) tickEnd(now time.Time, node *modelNode, o *corev1.Node) {
	if hasTaint(o, modelSpotTaint) && node.downSince.IsZero() && now.Sub(node.noticeAt) >= modelSpotNotice {
		node.downSince = now
	}
	if node.drainsAt.IsZero() || now.Before(node.drainsAt) {
		return
	}
	node.drainsAt = time.Time{}
	if !hasTaint(o, modelDisruptedTaint) {
		return
	}
	for i, pod := range listOf[*corev1.Pod](m.store) {
		if pod.Spec.NodeName == o.Name && live(pod) {
			m.deletePod(pod, m.pods[pod.UID].ownGrace())
			m.replace(pod, i)
		}
	}
}

// someNodeEnds reports whether a node is about to end, and something will happen to its pods.
func (m *model) someNodeEnds() bool {
	for name, node := range m.nodes {
		o := stored[*corev1.Node](m.store, "", name)
		if node.downSince.IsZero() && (hasTaint(o, modelSpotTaint) || !node.drainsAt.IsZero() || time.Since(node.endsSince) < modelPreStop) {
			return true
		}
	}
	return false
}

// hastenPod asks for the deletion of a pod with a grace period of its own, maybe of one that is being deleted.
func hastenPod(m *model, s step) {
	m.withPod(s, func(pod *corev1.Pod) {
		m.deletePod(pod, min(time.Duration(1+s.b%60)*time.Second, m.pods[pod.UID].ownGrace()))
	})
}

// deletePod does as the API server does: a second request only shortens the grace period, and times are cut to whole seconds.
func (m *model) deletePod(pod *corev1.Pod, grace time.Duration) {
	own := m.pods[pod.UID]
	switch {
	case own.deletedAt.IsZero():
		own.deletedAt = time.Now()
	case grace >= own.grace:
		return
	}
	own.grace = grace
	edit(m.store, pod, func(o *corev1.Pod) {
		o.DeletionTimestamp = ptr.To(metav1.NewTime(own.deletedAt.Add(grace).Truncate(time.Second)))
		o.DeletionGracePeriodSeconds = ptr.To(int64(grace.Seconds()))
	})
}
