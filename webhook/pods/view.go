// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"cmp"
	"encoding/json"

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
	InitContainers                review.Bounded[[]containerView]           `json:"initContainers"`
	NodeSelector                  review.Bounded[map[string]string]         `json:"nodeSelector"`
	Affinity                      struct {
		NodeAffinity struct {
			Required struct {
				Terms json.RawMessage `json:"nodeSelectorTerms"` // read by nodeTerms, for few pods
			} `json:"requiredDuringSchedulingIgnoredDuringExecution"`
		} `json:"nodeAffinity"`
	} `json:"affinity"`
}

// nodeTermView selects the nodes that match all of its expressions.
type nodeTermView struct {
	Expressions []nodeExpressionView `json:"matchExpressions"`
}

type nodeExpressionView struct {
	Key      string                      `json:"key"`
	Operator corev1.NodeSelectorOperator `json:"operator"`
	Values   []string                    `json:"values"`
}

type containerView struct {
	Name          string                         `json:"name"`
	RestartPolicy *corev1.ContainerRestartPolicy `json:"restartPolicy"`
	Lifecycle     *lifecycleView                 `json:"lifecycle"`

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
	case spec.Containers.TooLong, spec.InitContainers.TooLong,
		len(spec.Containers.Value)+len(spec.InitContainers.Value) > review.LongestList:
		return "containers"
	case spec.ReadinessGates.TooLong:
		return "readiness gates"
	default:
		return ""
	}
}

func (p *podView) containers() []containerView      { return p.Spec.Containers.Value }
func (p *podView) initContainers() []containerView  { return p.Spec.InitContainers.Value }
func (p *podView) gates() []corev1.PodReadinessGate { return p.Spec.ReadinessGates.Value }
func (p *podView) annotations() map[string]string   { return p.Metadata.Annotations.Value }

// sidecars returns the positions of the init containers that run beside the regular ones.
func (p *podView) sidecars() []int {
	var out []int
	for i := range p.initContainers() {
		if c := &p.initContainers()[i]; c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			out = append(out, i)
		}
	}
	return out
}

func (c *containerView) preStop() *preStopView {
	if c.Lifecycle == nil {
		return nil
	}
	return c.Lifecycle.PreStop
}

// nodeTerms returns the terms of the required node affinity, of which a node must match one. There are none if the terms hold more
// than review.LongestList values in all.
func (p *podView) nodeTerms() []nodeTermView {
	encoded := p.Spec.Affinity.NodeAffinity.Required.Terms
	if len(encoded) == 0 || review.HoldsMore(encoded, review.LongestList, review.AllDepths) {
		return nil
	}
	var terms []nodeTermView
	if json.Unmarshal(encoded, &terms) != nil { // API servers send nothing of another type
		return nil
	}
	return terms
}

// sleep returns how long the container's preStop sleeps, in seconds, or 0 if it has another one or none.
func (c *containerView) sleep() int64 {
	if hook := c.preStop(); hook != nil && hook.Sleep != nil {
		return hook.Sleep.Seconds
	}
	return 0
}
