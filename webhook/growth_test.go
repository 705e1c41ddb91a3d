// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"k8s.io/utils/clock"
)

// listed repeats a text until it has that many bytes, as a list of JSON.
func listed(text string, bytes int) string {
	return strings.Repeat(text+",", bytes/(len(text)+1)) + text
}

// numbered is an object of JSON with so many bytes of members.
func numbered(bytes int) string {
	var out strings.Builder
	for i := 0; out.Len() < bytes; i++ {
		fmt.Fprintf(&out, `"%x":"",`, i)
	}
	return out.String() + `"app":"web"`
}

// hostilePods are pods of some size that take the most memory and work for it.
func hostilePods(bytes int) map[string]string {
	const web = `"metadata":{"labels":{"app":"web"}}`
	spec := func(spec string) string { return `{` + web + `,"spec":{` + spec + `}}` }
	annotated := func(annotations string) string {
		return `{"metadata":{"labels":{"app":"web"},"annotations":{` + annotations + `}},"spec":{"containers":[{}]}}`
	}
	deep := min(bytes/2, 9000) // of which the decoder refuses more
	return map[string]string{
		"containers":        spec(`"containers":[` + listed(`{}`, bytes) + `]`),
		"nothing":           spec(`"containers":[` + listed(`null`, bytes) + `]`),
		"gates":             spec(`"readinessGates":[` + listed(`{}`, bytes) + `]`),
		"our gates":         spec(`"readinessGates":[` + listed(`{"conditionType":"target-health.elbv2.k8s.aws/a"}`, bytes) + `]`),
		"legacy gates":      spec(`"readinessGates":[` + listed(`{"conditionType":"target-health.alb.ingress.k8s.aws/a"}`, min(bytes, 50_000)) + `]`),
		"hooks":             spec(`"containers":[` + listed(`{"lifecycle":{"preStop":{"sleep":{}}}}`, bytes) + `]`),
		"labels":            `{"metadata":{"labels":{` + numbered(bytes) + `}},"spec":{}}`,
		"annotations":       annotated(numbered(bytes)),
		"a long annotation": annotated(`"` + delayAnnotation + `":"` + strings.Repeat("x", bytes) + `"`),
		"arguments":         spec(`"containers":[{"args":[` + listed(`""`, bytes) + `]}]`),
		"the same key":      spec(listed(`"containers":[{}]`, bytes)),
		"what nobody reads": spec(`"x":[` + listed(`{}`, bytes) + `]`),
		"depth":             spec(`"x":` + strings.Repeat("[", deep) + strings.Repeat("]", deep)),
		"a list's limit":    spec(`"containers":[` + strings.Repeat("{},", longestList-1) + `{}],"x":"` + strings.Repeat("x", bytes) + `"`),
		"a long name":       spec(`"containers":[{"name":"` + strings.Repeat("x", bytes) + `"}]`),
		"escapes":           `{"metadata":{"labels":{"app":"web","x":"` + strings.Repeat(`\u0001`, bytes/6) + `"}},"spec":{}}`,
		"commas in text":    annotated(`"a":"` + strings.Repeat(",", bytes) + `"`),
		"quotes":            annotated(`"a":"` + strings.Repeat(`\"`, bytes/2) + `"`),
	}
}

// hostileBindings are bindings of some size that take the most memory and work for it.
func hostileBindings(bytes int) map[string]string {
	selector := func(selector string) string { return specOf(instanceSpec(`,"nodeSelector":{` + selector + `}`)) }
	networking := func(rule string) string { return specOf(completeSpec + `,"networking":{"ingress":[` + rule + `]}`) }
	deep := min(bytes/2, 9000)
	return map[string]string{
		"expressions":       selector(`"matchExpressions":[` + listed(`{"key":"","operator":"x"}`, bytes) + `]`),
		"few expressions":   selector(`"matchExpressions":[` + listed(`{"key":"`+strings.Repeat("x", bytes/64)+`","operator":"x"}`, bytes) + `]`),
		"values":            selector(`"matchExpressions":[{"key":"a","operator":"In","values":[` + listed(`""`, bytes) + `]}]`),
		"a long value":      selector(`"matchExpressions":[{"key":"a","operator":"In","values":["` + strings.Repeat("x", bytes) + `"]}]`),
		"labels":            selector(`"matchLabels":{` + numbered(bytes) + `}`),
		"peers":             networking(`{"from":[` + listed(`{}`, bytes) + `],"ports":[]}`),
		"invalid addresses": networking(`{"from":[` + listed(`{"ipBlock":{"cidr":"x"}}`, bytes) + `],"ports":[]}`),
		"few addresses":     networking(`{"from":[` + listed(`{"ipBlock":{"cidr":"`+strings.Repeat("x", 1000)+`"}}`, bytes) + `],"ports":[]}`),
		"ports":             networking(`{"from":[],"ports":[` + listed(`{"port":"a"}`, bytes) + `]}`),
		"rules":             networking(listed(`{}`, bytes)),
		"commas in text":    selector(`"matchLabels":{"a":"` + strings.Repeat(",", bytes) + `"}`),
		"a long ARN":        specOf(`"targetGroupARN":"` + testARN + strings.Repeat("0", bytes) + `"`),
		"a long name":       specOf(`"targetGroupName":"` + strings.Repeat("x", bytes) + `"`),
		"a long protocol":   specOf(completeSpec + `,"targetGroupProtocol":"` + strings.Repeat("x", bytes) + `"`),
		"a long Service":    specOf(strings.Replace(completeSpec, `"web"`, `"`+strings.Repeat("x", bytes)+`"`, 1)),
		"a long number":     specOf(strings.Replace(completeSpec, `80`, "1"+strings.Repeat("0", bytes), 1)),
		"annotations":       strings.Replace(specOf(completeSpec), `"uid"`, `"annotations":{`+numbered(bytes)+`},"uid"`, 1),
		"managed fields":    strings.Replace(specOf(completeSpec), `"uid"`, `"managedFields":[`+listed(`{}`, bytes)+`],"uid"`, 1),
		"what nobody reads": specOf(completeSpec + `,"x":[` + listed(`{}`, bytes) + `]`),
		"the same key":      specOf(listed(`"nodeSelector":{"matchLabels":{"a":"b"}}`, bytes)),
		"the same list":     selector(listed(`"matchLabels":{"a":"b"}`, bytes)),
		"depth":             specOf(completeSpec + `,"x":` + strings.Repeat("[", deep) + strings.Repeat("]", deep)),
		"a deep selector":   selector(`"x":` + strings.Repeat("[", deep) + strings.Repeat("]", deep)),
	}
}

// cost is how many bytes and how many pieces of memory are taken for the review.
func cost(hook http.Handler, review string) (bytes, pieces float64) {
	var before, after runtime.MemStats
	w, req := recorder{httptest.NewRecorder()}, httptest.NewRequest(http.MethodPost, podPath, strings.NewReader(review))
	runtime.ReadMemStats(&before)
	hook.ServeHTTP(w, req)
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc), float64(after.Mallocs - before.Mallocs)
}

// No review takes much more memory than it is counted for, and four times as large a one no more than four times as much, or
// as much as the largest that is worked on.
func TestReviewCostIsLinear(t *testing.T) {
	const (
		size        = 256 << 10
		slackBytes  = 4 << 20  // for what is decoded within bounds, its faults and the patch of the longest list
		slackPieces = 150_000  // of it
		tolerance   = 1.25 * 4 // for four times as large a review
	)
	pods := newHandler(newReader(t, oldService("web", webLabels), newBinding("web")), clock.RealClock{})
	for hook, tc := range map[string]struct {
		handler http.Handler
		of      func(string) string
		small   map[string]string
		large   map[string]string
	}{
		"pods":       {pods, reviewOf, hostilePods(size), hostilePods(4 * size)},
		"mutating":   {mutating(t), newBindingReview, hostileBindings(size), hostileBindings(4 * size)},
		"validating": {validating(t), newBindingReview, hostileBindings(size), hostileBindings(4 * size)},
		"changing":   {validating(t), bindingChange, hostileBindings(size), hostileBindings(4 * size)},
	} {
		for shape := range tc.small {
			t.Run(hook+"/"+shape, func(t *testing.T) {
				small, large := tc.of(tc.small[shape]), tc.of(tc.large[shape])
				cost(tc.handler, small) // for what is taken once
				bytes, pieces := cost(tc.handler, small)
				more, morePieces := cost(tc.handler, large)
				if most := float64(weight(int64(len(large))) + slackBytes); more > most {
					t.Errorf("%d bytes take %.0f, want at most %.0f", len(large), more, most)
				}
				if more > bytes*tolerance+slackBytes || morePieces > pieces*tolerance+slackPieces {
					t.Errorf("%d bytes take %.0f in %.0f pieces, %d take %.0f in %.0f", len(small), bytes, pieces, len(large), more, morePieces)
				}
			})
		}
	}
}

func newBindingReview(binding string) string { return bindingReviewOf(binding, "") }

// bindingChange is a change of one field of a binding.
func bindingChange(binding string) string {
	return bindingReviewOf(binding, strings.Replace(binding, `"port":80`, `"port":81`, 1))
}
