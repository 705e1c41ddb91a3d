// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podReview is the part of an AdmissionReview of a pod that we read.
type podReview struct {
	Request *podRequest `json:"request"`
}

type podRequest struct {
	UID       types.UID             `json:"uid"`
	Operation admissionv1.Operation `json:"operation"`
	Namespace string                `json:"namespace"`
	Object    podView               `json:"object"`
}

// podView is the part of a pod that we read. The rest is never decoded, so it cannot be lost.
type podView struct {
	Metadata struct {
		Labels      bounded[map[string]string] `json:"labels"`
		Annotations bounded[map[string]string] `json:"annotations"` // a struct would match keys regardless of case
	} `json:"metadata"`
	Spec *podSpecView `json:"spec"`
}

type podSpecView struct {
	ReadinessGates                bounded[[]corev1.PodReadinessGate] `json:"readinessGates"`
	TerminationGracePeriodSeconds *int64                             `json:"terminationGracePeriodSeconds"`
	Containers                    bounded[[]containerView]           `json:"containers"`
	NodeSelector                  bounded[map[string]string]         `json:"nodeSelector"`
}

type containerView struct {
	Name      string         `json:"name"`
	Lifecycle *lifecycleView `json:"lifecycle"`

	LivenessProbe *probeView `json:"livenessProbe"`
	StartupProbe  *probeView `json:"startupProbe"`
}

type probeView struct {
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds"`
}

type lifecycleView struct {
	PreStop *preStopView `json:"preStop"`
}

type preStopView struct {
	Sleep *corev1.SleepAction `json:"sleep"`
}

// longestList limits the lists that are decoded of a pod, and so the patch, which is longer than its cause. No node runs a pod
// with so many containers, and no tool writes so many labels, annotations or gates.
const longestList = 1000

// tooLong returns the name of a list that is too long, or "". We do not reject such a pod, but add nothing to it.
func (p *podView) tooLong() string {
	switch spec := cmp.Or(p.Spec, &podSpecView{}); {
	case p.Metadata.Annotations.tooLong:
		return "annotations"
	case spec.Containers.tooLong:
		return "containers"
	case spec.ReadinessGates.tooLong:
		return "readiness gates"
	default:
		return ""
	}
}

func (p *podView) containers() []containerView      { return p.Spec.Containers.value }
func (p *podView) gates() []corev1.PodReadinessGate { return p.Spec.ReadinessGates.value }
func (p *podView) annotations() map[string]string   { return p.Metadata.Annotations.value }

func (c *containerView) preStop() *preStopView {
	if c.Lifecycle == nil {
		return nil
	}
	return c.Lifecycle.PreStop
}
