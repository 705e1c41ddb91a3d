// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import "testing"

func TestMinReadyPercent(t *testing.T) {
	for name, tc := range map[string]struct {
		binding, service string
		want             int
		ok, fault        bool
	}{
		"none":                      {},
		"the binding's":             {binding: "30", want: 30, ok: true},
		"the Service's":             {service: "0", ok: true},
		"the binding's comes first": {binding: "100", service: "0", want: 100, ok: true},
		"too many":                  {binding: "101", fault: true},
		"too few":                   {service: "-1", fault: true},
		"no number":                 {binding: "50 %", service: "40", fault: true},
	} {
		t.Run(name, func(t *testing.T) {
			var binding TargetGroupBinding
			var service map[string]string
			if tc.binding != "" {
				binding.Annotations = map[string]string{"targetgate.dev/min-ready-percent": tc.binding}
			}
			if tc.service != "" {
				service = map[string]string{"targetgate.dev/min-ready-percent": tc.service}
			}
			got, ok, fault := binding.MinReadyPercent(service)
			if got != tc.want || ok != tc.ok || (fault != "") != tc.fault {
				t.Errorf("%d, %t, %q; want %d, %t, a fault: %t", got, ok, fault, tc.want, tc.ok, tc.fault)
			}
		})
	}
}
