// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Reasons of conditions, and what a kubelet says in a graceful shutdown (k8s.io/kubernetes v1.37, pkg/kubelet/nodeshutdown).
const (
	shutdownReason  = "Terminated"
	shutdownMessage = "Pod was terminated in response to imminent node shutdown."

	reasonContainersNotReady     = "ContainersNotReady"
	reasonReadinessGatesNotReady = "ReadinessGatesNotReady"
	reasonPodCompleted           = "PodCompleted"
	reasonPodFailed              = "PodFailed"
)

// Facts are what a node knows about a pod that it runs.
type Facts struct {
	PodIP, HostIP string
	Start         metav1.Time
	Containers    []corev1.ContainerStatus // as in spec.containers
	Sidecars      []corev1.ContainerStatus // the restartable ones of spec.initContainers
	Stopped       bool                     // deleted or shut down, and every container has ended
	Shutdown      bool                     // it has ended in a shutdown of its node
}

// Desired returns the kubelet's own part of the pod's status: what is in it replaces what the API server has, what is
// not in it stays. Conditions already in the pod are read (the gates, and since when each of ours holds), and only the
// kubelet's own come back. It is pure.
func Desired(p *corev1.Pod, f Facts, now metav1.Time) corev1.PodStatus {
	status := corev1.PodStatus{
		Phase:                 phase(p, f),
		Reason:                p.Status.Reason,
		Message:               p.Status.Message,
		ObservedGeneration:    p.Generation,
		StartTime:             &f.Start,
		PodIP:                 f.PodIP,
		PodIPs:                []corev1.PodIP{{IP: f.PodIP}},
		HostIP:                f.HostIP,
		HostIPs:               []corev1.HostIP{{IP: f.HostIP}},
		ContainerStatuses:     f.Containers,
		InitContainerStatuses: initStatuses(p, f),
	}
	containersReady := containersReady(f, status.Phase)
	own := []corev1.PodCondition{
		{Type: corev1.PodReadyToStartContainers, Status: boolStatus(!f.Stopped)},
		{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, Reason: terminalReason(status.Phase, corev1.PodSucceeded)},
		containersReady,
		podReady(p, containersReady),
	}
	if Condition(p.Status.Conditions, corev1.PodScheduled) == nil {
		own = append(own, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
	}
	if f.Shutdown {
		own = append(own, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonTerminationByKubelet, Message: shutdownMessage,
		})
	}
	if f.Shutdown && status.Phase == corev1.PodFailed {
		status.Reason, status.Message = shutdownReason, shutdownMessage
	}
	for i := range own {
		own[i].ObservedGeneration = p.Generation
		own[i].LastTransitionTime = since(p.Status.Conditions, own[i], now)
	}
	status.Conditions = own
	return status
}

// phase follows the kubelet: waiting for a restart counts as running, and a deleted pod ends in a terminal phase.
func phase(p *corev1.Pod, f Facts) corev1.PodPhase {
	running, failed := tally(f.Containers)
	outcome := corev1.PodSucceeded
	if failed {
		outcome = corev1.PodFailed
	}
	switch policy := p.Spec.RestartPolicy; {
	case f.Stopped:
		return outcome
	case running:
		return corev1.PodRunning
	case policy == corev1.RestartPolicyNever, policy == corev1.RestartPolicyOnFailure && !failed:
		return outcome
	default:
		return corev1.PodRunning
	}
}

// tally reports whether some container runs (or waits to run again), and whether some container ended badly.
func tally(containers []corev1.ContainerStatus) (running, failed bool) {
	for _, c := range containers {
		ended := c.State.Terminated
		running = running || ended == nil
		failed = failed || (ended != nil && ended.ExitCode != 0)
	}
	return running, failed
}

func containersReady(f Facts, phase corev1.PodPhase) corev1.PodCondition {
	c := corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionFalse}
	if c.Reason = terminalReason(phase, corev1.PodSucceeded, corev1.PodFailed); c.Reason != "" {
		return c
	}
	var unready []string
	for _, list := range [][]corev1.ContainerStatus{f.Sidecars, f.Containers} {
		for _, container := range list {
			if !container.Ready {
				unready = append(unready, container.Name)
			}
		}
	}
	if len(unready) > 0 {
		c.Reason = reasonContainersNotReady
		c.Message = fmt.Sprintf("containers with unready status: %s", unready)
		return c
	}
	c.Status = corev1.ConditionTrue
	return c
}

// podReady is True when the containers are ready and every readiness gate's condition is True.
func podReady(p *corev1.Pod, containersReady corev1.PodCondition) corev1.PodCondition {
	ready := containersReady
	ready.Type = corev1.PodReady
	if ready.Status != corev1.ConditionTrue {
		return ready
	}
	var shut []string
	for _, gate := range p.Spec.ReadinessGates {
		switch c := Condition(p.Status.Conditions, gate.ConditionType); {
		case c == nil:
			shut = append(shut, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType))
		case c.Status != corev1.ConditionTrue:
			shut = append(shut, fmt.Sprintf(`the status of pod readiness gate %q is not "True", but %v`, gate.ConditionType, c.Status))
		}
	}
	if len(shut) > 0 {
		ready.Status = corev1.ConditionFalse
		ready.Reason = reasonReadinessGatesNotReady
		ready.Message = strings.Join(shut, ", ")
	}
	return ready
}

// terminalReason is the reason of a condition in one of the given terminal phases, otherwise empty.
func terminalReason(phase corev1.PodPhase, terminal ...corev1.PodPhase) string {
	reasons := map[corev1.PodPhase]string{corev1.PodSucceeded: reasonPodCompleted, corev1.PodFailed: reasonPodFailed}
	for _, t := range terminal {
		if t == phase {
			return reasons[phase]
		}
	}
	return ""
}

// initStatuses lists spec.initContainers in order: sidecars as they are, the others as done long ago.
func initStatuses(p *corev1.Pod, f Facts) []corev1.ContainerStatus {
	var statuses []corev1.ContainerStatus
	sidecars := f.Sidecars
	for _, c := range p.Spec.InitContainers {
		if IsSidecar(c) && len(sidecars) > 0 {
			statuses, sidecars = append(statuses, sidecars[0]), sidecars[1:]
			continue
		}
		statuses = append(statuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: "standin://" + c.Image, Ready: true, Started: ptr.To(false),
			ContainerID: fmt.Sprintf("standin://%s/%s/0", p.UID, c.Name),
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				Reason: "Completed", StartedAt: f.Start, FinishedAt: f.Start,
			}},
		})
	}
	return statuses
}

// IsSidecar reports whether an init container goes on running.
func IsSidecar(c corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// since is when the condition took its status: what the pod says already, or now.
func since(conditions []corev1.PodCondition, c corev1.PodCondition, now metav1.Time) metav1.Time {
	if old := Condition(conditions, c.Type); old != nil && old.Status == c.Status {
		return old.LastTransitionTime
	}
	return now
}

// Condition is that of the type, nil for none.
func Condition(conditions []corev1.PodCondition, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}

func boolStatus(b bool) corev1.ConditionStatus {
	if b {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}
