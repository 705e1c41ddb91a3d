// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// servicePort is port 443 of a Service, or of nodes 30000 and up.
func servicePort(name string, protocol corev1.Protocol, target int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: 443, Protocol: protocol, TargetPort: intstr.FromInt32(target), NodePort: 22000 + target}
}

// slicePort has no protocol if it is empty, and no name.
func slicePort(name string, protocol corev1.Protocol, port int32) discoveryv1.EndpointPort {
	out := discoveryv1.EndpointPort{Port: &port}
	if name != "" {
		out.Name = &name
	}
	if protocol != "" {
		out.Protocol = &protocol
	}
	return out
}

// A Service may have a number twice, for TCP and for UDP, and so may slices, in any order: targets are registered at the port that the
// target group sends to.
func TestTargetsAreAtThePortOfTheProtocol(t *testing.T) {
	udp, tcp := servicePort("h3", "UDP", 8443), servicePort("h2", "TCP", 8080)
	both := [][]corev1.ServicePort{{udp, tcp}, {tcp, udp}}
	ofBoth := [][]discoveryv1.EndpointPort{{slicePort("h3", "UDP", 8443), slicePort("h2", "TCP", 8080)}, {slicePort("h2", "TCP", 8080), slicePort("h3", "UDP", 8443)}}
	unnamed := [][]discoveryv1.EndpointPort{
		{slicePort("", "UDP", 8443), slicePort("a", "TCP", 8080)}, {slicePort("b", "", 8080), slicePort("c", "UDP", 8443), slicePort("d", "SCTP", 9000)},
	}
	tests := map[string]struct {
		services  [][]corev1.ServicePort
		slices    [][]discoveryv1.EndpointPort
		protocols []v1beta1.Protocol
		want      []int32
		doubt     string
	}{
		"for TCP": {services: both, slices: ofBoth, protocols: []v1beta1.Protocol{"HTTP", "HTTPS", "TCP", "TLS", ""}, want: []int32{8080}},
		"for UDP": {services: both, slices: ofBoth, protocols: []v1beta1.Protocol{"UDP", "QUIC"}, want: []int32{8443}},
		"for both, of which the first counts": {
			services: both[:1], slices: ofBoth, protocols: []v1beta1.Protocol{"TCP_UDP", "TCP_QUIC"}, want: []int32{8443}, doubt: "is twice there, for UDP at target port 8443 and for TCP",
		},
		"slices without names, written by hand": {
			services: [][]corev1.ServicePort{{servicePort("", "TCP", 8080)}, {servicePort("", "", 8080)}}, slices: unnamed, protocols: []v1beta1.Protocol{"TCP"}, want: []int32{8080},
		},
		"slices without names, for UDP": {
			services: [][]corev1.ServicePort{{servicePort("", "UDP", 8443)}}, slices: unnamed, protocols: []v1beta1.Protocol{"UDP"}, want: []int32{8443},
		},
		"a slice that forgot the protocol": {
			services: [][]corev1.ServicePort{{servicePort("dns", "UDP", 53)}}, slices: [][]discoveryv1.EndpointPort{{slicePort("dns", "", 53)}}, protocols: []v1beta1.Protocol{"UDP"}, want: []int32{53},
		},
		"a Service that forgot it": {
			services: [][]corev1.ServicePort{{servicePort("dns", "TCP", 53)}}, slices: [][]discoveryv1.EndpointPort{{slicePort("dns", "TCP", 53)}},
			protocols: []v1beta1.Protocol{"UDP"}, want: []int32{53}, doubt: "is for TCP, and the target group's protocol is UDP",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, ports := range tc.services {
				for _, inSlice := range tc.slices {
					for _, protocol := range tc.protocols {
						got, doubt := portsAt(t, ports, protocol, false, inSlice)
						if diff := cmp.Diff(tc.want, got); diff != "" || !strings.Contains(doubt, tc.doubt) || (doubt == "") != (tc.doubt == "") {
							t.Errorf("%s, Service %v, slice %v: doubt %q, ports (-want +got):\n%s", protocol, ports, inSlice, doubt, diff)
						}
					}
				}
			}
		})
	}
}

// So it is where one slice has one of the ports, and another slice the other.
func TestTargetsAreAtThePortOfTheProtocolInSeveralSlices(t *testing.T) {
	service := []corev1.ServicePort{servicePort("", "TCP", 8080)}
	got, _ := portsAt(t, service, "TCP", false, []discoveryv1.EndpointPort{slicePort("", "UDP", 8443)}, []discoveryv1.EndpointPort{slicePort("", "TCP", 8080)})
	if diff := cmp.Diff([]int32{8080}, got); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
}

func TestNodesAreAtTheNodePortOfTheProtocol(t *testing.T) {
	udp, tcp := servicePort("h3", "UDP", 8443), servicePort("h2", "TCP", 8080)
	for protocol, want := range map[v1beta1.Protocol]int32{"TCP": 30080, "TLS": 30080, "UDP": 30443} {
		for _, ports := range [][]corev1.ServicePort{{udp, tcp}, {tcp, udp}} {
			if got, _ := portsAt(t, ports, protocol, true); !slices.Equal(got, []int32{want}) {
				t.Errorf("%s: node ports %v, want %d", protocol, got, want)
			}
		}
	}
}

// portsAt are the ports at which a binding to port 443 has targets, where there is one pod in slices with these ports, or one node.
func portsAt(t *testing.T, service []corev1.ServicePort, protocol v1beta1.Protocol, nodes bool, inSlices ...[]discoveryv1.EndpointPort) (ports []int32, doubt string) {
	t.Helper()
	pod, binding := newPod("web-0", "10.0.0.1"), newBinding()
	binding.Spec.ServiceRef.Port, binding.Spec.TargetGroupProtocol = intstr.FromInt32(443), nil
	if protocol != "" {
		binding.Spec.TargetGroupProtocol = &protocol
	}
	objects := []client.Object{pod}
	for i, inSlice := range inSlices {
		slice := newSlice("web-"+string(rune('a'+i)), pod)
		slice.Ports = inSlice
		objects = append(objects, slice)
	}
	if nodes {
		objects = append(objects, newNode("node-1", "i-01", corev1.ConditionTrue))
		binding.Spec.TargetType = ptr.To(v1beta1.TargetTypeInstance)
	}
	inBed(t, func(b *bed) {
		changed := newService()
		changed.Spec.Ports = service
		b.must(b.cluster.Update(t.Context(), changed))
		res, err := b.resolver.ForPass().Resolve(t.Context(), binding, targetgroup.Targets{})
		b.must(err)
		doubt = res.Doubt
		at := map[int32]bool{}
		for target := range res.Endpoints {
			at[target.Port] = true
		}
		ports = slices.Sorted(maps.Keys(at))
	}, objects...)
	return ports, doubt
}
