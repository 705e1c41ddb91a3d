// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// A manifest with all fields of the incumbent's API is read as it is, and written again.
func TestAllFieldsAreKnown(t *testing.T) {
	const manifest = `apiVersion: elbv2.k8s.aws/v1beta1
kind: IngressClassParams
metadata:
  name: all
spec:
  certificateArn:
  - arn
  group:
    name: edge
  inboundCIDRs:
  - 10.0.0.0/8
  ipAddressType: dualstack
  ipamConfiguration:
    ipv4IPAMPoolId: pool
  listeners:
  - listenerAttributes:
    - key: a
      value: b
    port: 443
    protocol: HTTPS
  loadBalancerAttributes:
  - key: a
    value: b
  loadBalancerName: name
  minimumLoadBalancerCapacity:
    capacityUnits: 100
  namespaceSelector:
    matchLabels:
      team: a
  prefixListsIDs:
  - pl-1
  scheme: internal
  sslPolicy: policy
  sslRedirectPort: "443"
  subnets:
    ids:
    - subnet-1
    tags:
      a:
      - b
  tags:
  - key: a
    value: b
  targetType: ip
  wafv2AclArn: arn
  wafv2AclName: name
`
	var params IngressClassParams
	if err := yaml.UnmarshalStrict([]byte(manifest), &params); err != nil {
		t.Fatal(err)
	}
	if got, err := yaml.Marshal(params); string(got) != manifest || err != nil {
		t.Errorf("error %v, written as\n%s", err, got)
	}
}

func TestPrefixListsInEitherSpelling(t *testing.T) {
	for name, spec := range map[string]IngressClassParamsSpec{
		"new": {PrefixListsIDs: []string{"pl-1"}}, "old": {LegacyPrefixListsIDs: []string{"pl-1"}},
	} {
		if got := spec.PrefixLists(); !slices.Equal(got, []string{"pl-1"}) {
			t.Errorf("%s spelling: %v", name, got)
		}
	}
}

func TestSchemeKnowsTheTypes(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"IngressClassParams", "IngressClassParamsList"} {
		if !scheme.Recognizes(GroupVersion.WithKind(kind)) {
			t.Errorf("%s is not known", kind)
		}
	}
}
