// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podReview is the part of an AdmissionReview of a pod that is read.
type podReview struct {
	Request *podRequest `json:"request"`
}

type podRequest struct {
	UID       types.UID             `json:"uid"`
	Operation admissionv1.Operation `json:"operation"`
	Namespace string                `json:"namespace"`
	Object    podView               `json:"object"`
}

// podView is the part of a pod that is read. The rest is never decoded, so it cannot be lost.
type podView struct {
	Metadata struct {
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"` // a struct would take other spellings of keys for ours
	} `json:"metadata"`
	Spec *podSpecView `json:"spec"`
}

type podSpecView struct {
	ReadinessGates                []corev1.PodReadinessGate `json:"readinessGates"`
	TerminationGracePeriodSeconds *int64                    `json:"terminationGracePeriodSeconds"`
	Containers                    []containerView           `json:"containers"`
}

type containerView struct {
	Name      string         `json:"name"`
	Lifecycle *lifecycleView `json:"lifecycle"`
}

type lifecycleView struct {
	PreStop *preStopView `json:"preStop"`
}

type preStopView struct {
	Sleep *corev1.SleepAction `json:"sleep"`
}

// longestList bounds the patch, which is longer than what it is made for. No node runs a pod of so many containers.
const longestList = 1000

// check finds what is no pod that could run. Such a one is not for us to refuse: the API server does.
func (p *podView) check() error {
	switch {
	case p.Spec == nil:
		return errors.New("the pod has no spec")
	case len(p.Spec.Containers) > longestList:
		return fmt.Errorf("the pod has more than %d containers", longestList)
	case len(p.Spec.ReadinessGates) > longestList:
		return fmt.Errorf("the pod has more than %d readiness gates", longestList)
	default:
		return nil
	}
}

// firstContainer is the name of the pod's first regular container.
func (p *podView) firstContainer() string {
	if len(p.Spec.Containers) == 0 {
		return ""
	}
	return p.Spec.Containers[0].Name
}

func (c *containerView) preStop() *preStopView {
	if c.Lifecycle == nil {
		return nil
	}
	return c.Lifecycle.PreStop
}
