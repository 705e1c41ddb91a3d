// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"cmp"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/webhook/review"
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
		Labels      review.Bounded[map[string]string] `json:"labels"`
		Annotations review.Bounded[map[string]string] `json:"annotations"` // a struct would match keys regardless of case
	} `json:"metadata"`
	Spec *podSpecView `json:"spec"`
}

type podSpecView struct {
	ReadinessGates                review.Bounded[[]corev1.PodReadinessGate] `json:"readinessGates"`
	TerminationGracePeriodSeconds *int64                                    `json:"terminationGracePeriodSeconds"`
	Containers                    review.Bounded[[]containerView]           `json:"containers"`
	NodeSelector                  review.Bounded[map[string]string]         `json:"nodeSelector"`
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

// tooLong returns the name of a list that is too long, or "". We do not reject such a pod, but add nothing to it.
func (p *podView) tooLong() string {
	switch spec := cmp.Or(p.Spec, &podSpecView{}); {
	case p.Metadata.Annotations.TooLong:
		return "annotations"
	case spec.Containers.TooLong:
		return "containers"
	case spec.ReadinessGates.TooLong:
		return "readiness gates"
	default:
		return ""
	}
}

func (p *podView) containers() []containerView      { return p.Spec.Containers.Value }
func (p *podView) gates() []corev1.PodReadinessGate { return p.Spec.ReadinessGates.Value }
func (p *podView) annotations() map[string]string   { return p.Metadata.Annotations.Value }

func (c *containerView) preStop() *preStopView {
	if c.Lifecycle == nil {
		return nil
	}
	return c.Lifecycle.PreStop
}
