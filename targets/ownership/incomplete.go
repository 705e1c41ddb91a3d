// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Incomplete returns why nothing can be done for a binding with this spec, or "". Admission lets no such binding in, but it may
// have been created before admission was installed.
func Incomplete(spec *v1beta1.TargetGroupBindingSpec) string {
	const created = " is not set: was the binding created while the webhook was not installed? Create it again"
	switch {
	case spec.TargetType == nil:
		return "spec.targetType" + created
	case spec.TargetGroupARN == "":
		return "spec.targetGroupARN" + created
	case !v1beta1.NodeSelectorFits(spec.NodeSelector):
		return "spec.nodeSelector " + v1beta1.NodeSelectorLimits
	}
	if _, err := metav1.LabelSelectorAsSelector(spec.NodeSelector); err != nil {
		return fmt.Sprintf("spec.nodeSelector: %v", err)
	}
	return ""
}
