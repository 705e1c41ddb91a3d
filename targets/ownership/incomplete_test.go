// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

func TestIncompleteNamesTheField(t *testing.T) {
	const tooLarge = "spec.nodeSelector takes at most 32 labels and expressions together, and 64 values in each expression"
	selecting := func(requirements ...metav1.LabelSelectorRequirement) change {
		return func(b *v1beta1.TargetGroupBinding) {
			b.Spec.NodeSelector = &metav1.LabelSelector{MatchExpressions: requirements}
		}
	}
	terms := func(n int) change {
		return selecting(make([]metav1.LabelSelectorRequirement, n)...)
	}
	values := func(n int) change {
		return selecting(metav1.LabelSelectorRequirement{
			Key: "pool", Operator: metav1.LabelSelectorOpIn, Values: make([]string, n),
		})
	}
	tests := map[string]struct {
		change change
		want   string // how it begins
	}{
		"complete":                 {func(*v1beta1.TargetGroupBinding) {}, ""},
		"no target type":           {incomplete, "spec.targetType is not set"},
		"no target group":          {func(b *v1beta1.TargetGroupBinding) { b.Spec.TargetGroupARN = "" }, "spec.targetGroupARN is not set"},
		"too many terms":           {terms(v1beta1.MaxNodeSelectorExpressions + 1), tooLarge},
		"as many values as may be": {values(v1beta1.MaxNodeSelectorValues), ""},
		"too many values":          {values(v1beta1.MaxNodeSelectorValues + 1), tooLarge},
		"a malformed term":         {terms(1), `spec.nodeSelector: "" is not a valid label selector operator`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			binding := newBinding(1, "a", tc.change)
			got := Incomplete(&binding.Spec)
			if !strings.HasPrefix(got, tc.want) || (got == "") != (tc.want == "") {
				t.Errorf("incomplete as %q, want %q", got, tc.want)
			}
		})
	}
}
