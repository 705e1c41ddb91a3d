// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
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
}

func shapeOf(s step) podShape { return podShape{version: fmt.Sprint(1 + s.b%2), gated: s.c%5 > 0} }

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
