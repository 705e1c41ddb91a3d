// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestServiceReferenceMatchesNameOrNumber(t *testing.T) {
	const name, number = "http", 80
	for port, want := range map[intstr.IntOrString]bool{
		intstr.FromInt32(number):    true,
		intstr.FromInt32(81):        false,
		intstr.FromString(name):     true,
		intstr.FromString("80"):     false, // the name of a port, not its number
		intstr.FromString(""):       false,
		intstr.FromString("metric"): false,
	} {
		if got := (&ServiceReference{Port: port}).Matches(name, number); got != want {
			t.Errorf("reference to port %v matches: %v, want %v", port, got, want)
		}
	}
	if !(&ServiceReference{Port: intstr.FromInt32(number)}).Matches("", number) {
		t.Error("a port without a name is not found by its number")
	}
}

func TestTargetTypeMayNotBeSetYet(t *testing.T) {
	ip, instance := TargetTypeIP, TargetTypeInstance
	for name, tc := range map[string]struct {
		spec              TargetGroupBindingSpec
		wantIP, wantNodes bool
	}{
		"ip":       {spec: TargetGroupBindingSpec{TargetType: &ip}, wantIP: true},
		"instance": {spec: TargetGroupBindingSpec{TargetType: &instance}, wantNodes: true},
		"not set":  {},
	} {
		t.Run(name, func(t *testing.T) {
			if isIP, isInstance := tc.spec.IsIP(), tc.spec.IsInstance(); isIP != tc.wantIP || isInstance != tc.wantNodes {
				t.Errorf("ip %v, instance %v; want %v, %v", isIP, isInstance, tc.wantIP, tc.wantNodes)
			}
		})
	}
}

func TestFamilyIsIPv4ByDefault(t *testing.T) {
	for _, family := range []IPAddressType{IPAddressTypeIPv4, IPAddressTypeIPv6} {
		if got := (&TargetGroupBindingSpec{IPAddressType: &family}).Family(); got != family {
			t.Errorf("family %s, want %s", got, family)
		}
	}
	if got := (&TargetGroupBindingSpec{}).Family(); got != IPAddressTypeIPv4 {
		t.Errorf("family %s where none is set, want ipv4", got)
	}
}

func TestGroupProtocolPrefersTheSpec(t *testing.T) {
	spec := Protocol("TCP")
	binding := &TargetGroupBinding{}
	if got := binding.GroupProtocol(); got != "" {
		t.Errorf("protocol %q where nothing says it, want none", got)
	}
	binding.Status.TargetGroup = &TargetGroupSettings{Protocol: "HTTP"}
	if got := binding.GroupProtocol(); got != "HTTP" {
		t.Errorf("protocol %q, want the status's", got)
	}
	binding.Spec.TargetGroupProtocol = &spec
	if got := binding.GroupProtocol(); got != spec {
		t.Errorf("protocol %q, want the spec's", got)
	}
}
