// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"net/http"
	"strings"
	"testing"

	"github.com/targetgate/targetgate/webhook/review"
	"github.com/targetgate/targetgate/webhook/webhooktest"
)

// hostileBindings are bindings of some size that take the most memory and work for it.
func hostileBindings(bytes int) map[string]string {
	selector := func(selector string) string { return specOf(instanceSpec(`,"nodeSelector":{` + selector + `}`)) }
	networking := func(rule string) string { return specOf(completeSpec + `,"networking":{"ingress":[` + rule + `]}`) }
	deep := min(bytes/2, 9000)
	return map[string]string{
		"expressions":       selector(`"matchExpressions":[` + webhooktest.Listed(`{"key":"","operator":"x"}`, bytes) + `]`),
		"few expressions":   selector(`"matchExpressions":[` + webhooktest.Listed(`{"key":"`+strings.Repeat("x", bytes/64)+`","operator":"x"}`, bytes) + `]`),
		"values":            selector(`"matchExpressions":[{"key":"a","operator":"In","values":[` + webhooktest.Listed(`""`, bytes) + `]}]`),
		"a long value":      selector(`"matchExpressions":[{"key":"a","operator":"In","values":["` + strings.Repeat("x", bytes) + `"]}]`),
		"labels":            selector(`"matchLabels":{` + webhooktest.Numbered(bytes) + `}`),
		"peers":             networking(`{"from":[` + webhooktest.Listed(`{}`, bytes) + `],"ports":[]}`),
		"invalid addresses": networking(`{"from":[` + webhooktest.Listed(`{"ipBlock":{"cidr":"x"}}`, bytes) + `],"ports":[]}`),
		"few addresses":     networking(`{"from":[` + webhooktest.Listed(`{"ipBlock":{"cidr":"`+strings.Repeat("x", 1000)+`"}}`, bytes) + `],"ports":[]}`),
		"ports":             networking(`{"from":[],"ports":[` + webhooktest.Listed(`{"port":"a"}`, bytes) + `]}`),
		"rules":             networking(webhooktest.Listed(`{}`, bytes)),
		"commas in text":    selector(`"matchLabels":{"a":"` + strings.Repeat(",", bytes) + `"}`),
		"a long ARN":        specOf(`"targetGroupARN":"` + webhooktest.ARN + strings.Repeat("0", bytes) + `"`),
		"a long name":       specOf(`"targetGroupName":"` + strings.Repeat("x", bytes) + `"`),
		"a long protocol":   specOf(completeSpec + `,"targetGroupProtocol":"` + strings.Repeat("x", bytes) + `"`),
		"a long Service":    specOf(strings.Replace(completeSpec, `"web"`, `"`+strings.Repeat("x", bytes)+`"`, 1)),
		"a long number":     specOf(strings.Replace(completeSpec, `80`, "1"+strings.Repeat("0", bytes), 1)),
		"annotations":       strings.Replace(specOf(completeSpec), `"uid"`, `"annotations":{`+webhooktest.Numbered(bytes)+`},"uid"`, 1),
		"managed fields":    strings.Replace(specOf(completeSpec), `"uid"`, `"managedFields":[`+webhooktest.Listed(`{}`, bytes)+`],"uid"`, 1),
		"what nobody reads": specOf(completeSpec + `,"x":[` + webhooktest.Listed(`{}`, bytes) + `]`),
		"the same key":      specOf(webhooktest.Listed(`"nodeSelector":{"matchLabels":{"a":"b"}}`, bytes)),
		"the same list":     selector(webhooktest.Listed(`"matchLabels":{"a":"b"}`, bytes)),
		"depth":             specOf(completeSpec + `,"x":` + strings.Repeat("[", deep) + strings.Repeat("]", deep)),
		"a deep selector":   selector(`"x":` + strings.Repeat("[", deep) + strings.Repeat("]", deep)),
	}
}

func TestBindingReviewCostIsLinear(t *testing.T) {
	for name, tc := range map[string]struct {
		handler http.Handler
		of      func(string) string
	}{
		"validating": {validating(t), newBindingReview},
		"changing":   {validating(t), bindingChange},
		"mutating":   {mutating(t), bindingChange},
	} {
		t.Run(name, func(t *testing.T) { webhooktest.CheckGrowth(t, tc.handler, hostileBindings, tc.of, review.Weight) })
	}
}

func newBindingReview(binding string) string { return bindingReviewOf(binding, "") }

// bindingChange is a change of one field of a binding.
func bindingChange(binding string) string {
	return bindingReviewOf(binding, strings.Replace(binding, `"port":80`, `"port":81`, 1))
}
