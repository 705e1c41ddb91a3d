// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/webhook/review"
	"github.com/targetgate/targetgate/webhook/webhooktest"
)

// hostilePods are pods of some size that take the most memory and work for it.
func hostilePods(bytes int) map[string]string {
	const web = `"metadata":{"labels":{"app":"web"}}`
	spec := func(spec string) string { return `{` + web + `,"spec":{` + spec + `}}` }
	annotated := func(annotations string) string {
		return `{"metadata":{"labels":{"app":"web"},"annotations":{` + annotations + `}},"spec":{"containers":[{}]}}`
	}
	affine := func(terms string) string {
		return `{"metadata":{"labels":{"app":"web"},"annotations":{"` + delayAnnotation + `":"2m"}},"spec":{"affinity":{"nodeAffinity":{` +
			`"requiredDuringSchedulingIgnoredDuringExecution":{` + terms + `}}},"containers":[{}]}}`
	}
	deep := min(bytes/2, 9000) // of which the decoder refuses more
	return map[string]string{
		"containers":        spec(`"containers":[` + webhooktest.Listed(`{}`, bytes) + `]`),
		"init containers":   spec(`"initContainers":[` + webhooktest.Listed(`{}`, bytes) + `],"containers":[{}]`),
		"nothing":           spec(`"containers":[` + webhooktest.Listed(`null`, bytes) + `]`),
		"gates":             spec(`"readinessGates":[` + webhooktest.Listed(`{}`, bytes) + `]`),
		"our gates":         spec(`"readinessGates":[` + webhooktest.Listed(`{"conditionType":"target-health.elbv2.k8s.aws/a"}`, bytes) + `]`),
		"legacy gates":      spec(`"readinessGates":[` + webhooktest.Listed(`{"conditionType":"target-health.alb.ingress.k8s.aws/a"}`, min(bytes, 50_000)) + `]`),
		"hooks":             spec(`"containers":[` + webhooktest.Listed(`{"lifecycle":{"preStop":{"sleep":{}}}}`, bytes) + `]`),
		"labels":            `{"metadata":{"labels":{` + webhooktest.Numbered(bytes) + `}},"spec":{}}`,
		"annotations":       annotated(webhooktest.Numbered(bytes)),
		"a long annotation": annotated(`"` + delayAnnotation + `":"` + strings.Repeat("x", bytes) + `"`),
		"arguments":         spec(`"containers":[{"args":[` + webhooktest.Listed(`""`, bytes) + `]}]`),
		"the same key":      spec(webhooktest.Listed(`"containers":[{}]`, bytes)),
		"what nobody reads": spec(`"x":[` + webhooktest.Listed(`{}`, bytes) + `]`),
		"depth":             spec(`"x":` + strings.Repeat("[", deep) + strings.Repeat("]", deep)),
		"a list's limit":    spec(`"containers":[` + strings.Repeat("{},", review.LongestList-1) + `{}],"x":"` + strings.Repeat("x", bytes) + `"`),
		"probes": spec(`"containers":[` + strings.Repeat(`{"livenessProbe":{},"startupProbe":{}},`, review.LongestList-1) + `{}],"x":"` +
			strings.Repeat("x", bytes) + `"`),
		"two lists": spec(`"containers":[` + strings.Repeat(`{"livenessProbe":{},"startupProbe":{}},`, review.LongestList-1) + `{}],"initContainers":[` +
			strings.Repeat(`{"restartPolicy":"Always","livenessProbe":{},"startupProbe":{}},`, review.LongestList-1) + `{}],"x":"` +
			strings.Repeat("x", bytes) + `"`),
		"a long name":      spec(`"containers":[{"name":"` + strings.Repeat("x", bytes) + `"}]`),
		"escapes":          `{"metadata":{"labels":{"app":"web","x":"` + strings.Repeat(`\u0001`, bytes/6) + `"}},"spec":{}}`,
		"commas in text":   annotated(`"a":"` + strings.Repeat(",", bytes) + `"`),
		"node terms":       affine(`"nodeSelectorTerms":[` + webhooktest.Listed(`{}`, bytes) + `]`),
		"node expressions": affine(`"nodeSelectorTerms":[` + webhooktest.Listed(`{"matchExpressions":[`+strings.Repeat(`{},`, 900)+`{}]}`, bytes) + `]`),
		"node values":      affine(`"nodeSelectorTerms":[{"matchExpressions":[{"values":[` + webhooktest.Listed(`""`, bytes) + `]}]}]`),
		"the same terms":   affine(webhooktest.Listed(`"nodeSelectorTerms":[`+strings.Repeat(`{},`, 900)+`{}]`, bytes)),
		"quotes":           annotated(`"a":"` + strings.Repeat(`\"`, bytes/2) + `"`),
	}
}

func TestReviewCostIsLinear(t *testing.T) {
	handler := newHandler(webhooktest.NewReader(t, oldService("web", webLabels), webhooktest.NewBinding("web")), clock.RealClock{})
	webhooktest.CheckGrowth(t, handler, hostilePods, reviewOf, review.Weight)
}
