// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/e2e/kubelet/status"
)

func (p *pod) object() *corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.latest
}

func (p *pod) now() time.Time { return p.kubelet.clock.Now() }

func (p *pod) name() string { return p.object().Name }

func (p *pod) restartPolicy() corev1.RestartPolicy { return p.object().Spec.RestartPolicy }

// fullName names the pod as the kubelet does in container messages.
func (p *pod) fullName() string {
	object := p.object()
	return object.Name + "_" + object.Namespace + "(" + string(object.UID) + ")"
}

// address is the pod's address, or empty before it has one.
func (p *pod) address() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.addressLocked()
}

func (p *pod) addressLocked() string {
	if !p.ip.IsValid() {
		return ""
	}
	return p.ip.String()
}

// all lists the containers in the order in which they start.
func (p *pod) all() []*container {
	return append(append([]*container{}, p.sidecars...), p.containers...)
}

func (p *pod) hasStopped() bool {
	select {
	case <-p.stopped:
		return true
	default:
		return false
	}
}

func (p *pod) note(event Event, container string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noteLocked(event, container)
}

func (p *pod) noteLocked(event Event, container string) {
	p.kubelet.journal.note(Moment{
		UID: p.uid, Namespace: p.latest.Namespace, Pod: p.latest.Name, Container: container,
		Node: p.node.Name, IP: p.addressLocked(), Event: event, At: p.now(),
	})
}

// noteReadiness notes which of the two readiness conditions a status write changed.
func (p *pod) noteReadiness(before, after *corev1.Pod) {
	events := []struct {
		kind    corev1.PodConditionType
		on, off Event
	}{
		{corev1.ContainersReady, ContainersReady, ContainersNotReady},
		{corev1.PodReady, Ready, NotReady},
	}
	for _, e := range events {
		was, is := isTrue(before, e.kind), isTrue(after, e.kind)
		switch {
		case is && !was:
			p.note(e.on, "")
		case was && !is:
			p.note(e.off, "")
		}
	}
}

func isTrue(object *corev1.Pod, kind corev1.PodConditionType) bool {
	c := status.Condition(object.Status.Conditions, kind)
	return c != nil && c.Status == corev1.ConditionTrue
}

// isOver says that the pod has ended for good.
func isOver(object *corev1.Pod) bool { return isEnd(object.Status) }

func isEnd(s corev1.PodStatus) bool {
	return s.Phase == corev1.PodSucceeded || s.Phase == corev1.PodFailed
}

// noteEnd takes in that the pod has ended, before the API server tells anybody.
func (p *pod) noteEnd(s corev1.PodStatus) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = p.over || isEnd(s)
}

// hasEnded reports whether it has ended for good, whatever the API server has been told.
func (p *pod) hasEnded() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over || isOver(p.latest)
}

func statuses(containers []*container) []corev1.ContainerStatus {
	list := make([]corev1.ContainerStatus, 0, len(containers))
	for _, c := range containers {
		list = append(list, c.status())
	}
	return list
}
