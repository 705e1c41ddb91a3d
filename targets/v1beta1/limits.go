// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What a binding may hold at most. The CRD refuses more in new objects and in what an update changes, but for the values of
// an expression, which would cost the API server too much to count, and the rules of spec.networking. Admission and registrar
// check it again before they work on a spec, as the CRD may be older and objects may be from before.
const (
	// MaxBindingName is the longest name of a binding, in characters: the readiness gate of its pods ends with the name, and
	// Kubernetes takes no more there. Of a longer one pods get no gate.
	MaxBindingName = 63

	// MaxNodeSelectorExpressions bounds the labels and expressions of spec.nodeSelector, taken together.
	MaxNodeSelectorExpressions = 32
	// MaxNodeSelectorValues bounds the values of one expression.
	MaxNodeSelectorValues = 64

	// MaxNetworkingRules bounds the rules of spec.networking: AWS has at most as many at a network interface.
	MaxNetworkingRules = 1000
)

// NodeSelectorLimits says in words what a node selector may hold, with the field or "it" before it.
var NodeSelectorLimits = fmt.Sprintf("takes at most %d labels and expressions together, and %d values in each expression",
	MaxNodeSelectorExpressions, MaxNodeSelectorValues)

// NodeSelectorFits reports whether a node selector keeps within the bounds.
func NodeSelectorFits(selector *metav1.LabelSelector) bool {
	if selector == nil {
		return true
	}
	if len(selector.MatchLabels)+len(selector.MatchExpressions) > MaxNodeSelectorExpressions {
		return false
	}
	for i := range selector.MatchExpressions {
		if len(selector.MatchExpressions[i].Values) > MaxNodeSelectorValues {
			return false
		}
	}
	return true
}

// NetworkingRules is how many rules a spec.networking asks for at each target: one for each peer and port.
func NetworkingRules(networking *TargetGroupBindingNetworking) int {
	if networking == nil {
		return 0
	}
	n := 0
	for _, rule := range networking.Ingress {
		n += len(rule.From) * max(len(rule.Ports), 1)
	}
	return n
}
