// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/webhook/webhooktest"
)

// BenchmarkReview reviews pods of some 10 kB, which is the usual size, behind one binding.
func BenchmarkReview(b *testing.B) {
	const probes = `"livenessProbe":{"httpGet":{"path":"/live","port":8080},"periodSeconds":10},` +
		`"startupProbe":{"httpGet":{"path":"/live","port":8080},"failureThreshold":30},`
	const spot = `"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[` +
		`{"key":"karpenter.sh/capacity-type","operator":"In","values":["spot"]},` +
		`{"key":"topology.kubernetes.io/zone","operator":"In","values":["eu-west-1a","eu-west-1b","eu-west-1c"]}]}]}},` +
		`"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100,"podAffinityTerm":` +
		`{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"web"}}}}]}},`
	handler := newHandler(webhooktest.NewReader(b, oldService("web", webLabels), webhooktest.NewBinding("web")), clock.RealClock{})
	for _, tc := range []struct{ name, container, spec string }{
		{"plain", "", ""}, {"probes", probes, ""}, {"probes and affinity", probes, spot},
	} {
		b.Run(tc.name, func(b *testing.B) {
			body := []byte(reviewOf(`{"metadata":{"labels":{"app":"web"},"annotations":{"a":"b"}},"spec":{` + tc.spec +
				`"containers":[{` + tc.container + `"name":"web","env":[` + environment(9000) + `]}]}}`))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := handler.review(b.Context(), body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// environment is a list of environment variables that has so many bytes.
func environment(bytes int) string {
	var out []string
	for size := 0; size < bytes; size += len(out[len(out)-1]) {
		out = append(out, fmt.Sprintf(`{"name":"SETTING_%d","value":"https://service-%d.shop.svc.cluster.local"}`, len(out), len(out)))
	}
	return strings.Join(out, ",")
}
