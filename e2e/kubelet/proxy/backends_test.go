// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

// endpoint is one of a slice; state is ready, unready, leaving (terminating and serving) or ended.
func endpoint(ip, node, state string) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{
		Addresses: []string{ip}, NodeName: &node,
		Conditions: discoveryv1.EndpointConditions{
			Ready:       ptr.To(state == "ready"),
			Serving:     ptr.To(state == "ready" || state == "leaving"),
			Terminating: ptr.To(state == "leaving" || state == "ended"),
		},
	}
}

func slice(port int32, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: &port, Protocol: ptr.To(corev1.ProtocolTCP)}},
		Endpoints:   endpoints,
	}
}

func TestBackends(t *testing.T) {
	unset := discoveryv1.Endpoint{Addresses: []string{"10.1.0.9"}}
	cases := map[string]struct {
		slices []*discoveryv1.EndpointSlice
		port   string
		node   string
		want   string
	}{
		"ready ones of all slices": {
			slices: []*discoveryv1.EndpointSlice{
				slice(8080, endpoint("10.1.0.2", "n1", "ready"), endpoint("10.1.0.3", "n1", "unready")),
				slice(8081, endpoint("10.2.0.2", "n2", "ready")),
			},
			want: "127.1.0.2:8080 127.2.0.2:8081",
		},
		"local": {
			slices: []*discoveryv1.EndpointSlice{slice(80, endpoint("10.1.0.2", "n1", "ready"), endpoint("10.2.0.2", "n2", "ready"))},
			node:   "n2",
			want:   "127.2.0.2:80",
		},
		"none on the node": {
			slices: []*discoveryv1.EndpointSlice{slice(80, endpoint("10.1.0.2", "n1", "ready"))},
			node:   "n2",
		},
		"no leaving one while one is ready": {
			slices: []*discoveryv1.EndpointSlice{slice(80, endpoint("10.1.0.2", "n1", "leaving"), endpoint("10.1.0.3", "n1", "ready"))},
			want:   "127.1.0.3:80",
		},
		"leaving ones as a last resort": {
			slices: []*discoveryv1.EndpointSlice{slice(80, endpoint("10.1.0.2", "n1", "leaving"), endpoint("10.1.0.3", "n1", "ended"))},
			want:   "127.1.0.2:80",
		},
		"unset conditions are ready": {slices: []*discoveryv1.EndpointSlice{slice(80, unset)}, want: "127.1.0.9:80"},
		"another port":               {slices: []*discoveryv1.EndpointSlice{slice(80, unset)}, port: "admin"},
		"no pod's address":           {slices: []*discoveryv1.EndpointSlice{slice(80, endpoint("192.168.0.1", "n1", "ready"))}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.port == "" {
				tc.port = "http"
			}
			var got []string
			for _, b := range backends(tc.slices, tc.port, tc.node) {
				got = append(got, b.String())
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("backends (-want +got):\n%s", diff)
			}
		})
	}
}
