// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/targets/networking/members"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Two containers of a pod may give one name to ports of different protocols.
func TestNamedPortIsThatOfTheProtocol(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{
			{Name: "dns", ContainerPort: 5353, Protocol: "UDP"}, {Name: "dns", ContainerPort: 53}, {Name: "http", ContainerPort: 8080},
		}}}}}
		udp := v1beta1.NetworkingProtocol("UDP")
		rule := from("sg-lb", "dns")
		rule.Ports = append(rule.Ports, v1beta1.NetworkingPort{Protocol: &udp, Port: ptr.To(intstr.FromString("dns"))},
			v1beta1.NetworkingPort{Protocol: &udp, Port: ptr.To(intstr.FromString("http"))}) // a container that forgot its protocol
		web := asking("web", rule)
		web.Members = []members.Member{podOn(1, "web")}
		web.Members[0].Ports = members.NamedPorts(pod)
		b.want(web)
		b.settle()
		b.wantRules("sg-node", "tcp 53 from sg-lb", "udp 5353 from sg-lb", "udp 8080 from sg-lb")
	})
}

// Pods may give one name to different ports, as in a rollout to another port.
func TestNamedPortIsARuleForEachNumberThatAPodHas(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		web := asking("web", from("sg-lb", "http"))
		web.Members = []members.Member{podOn(1, "old"), podOn(1, "new")}
		web.Members[0].Ports, web.Members[0].UID = map[string]int32{"http": 8080}, "old"
		web.Members[1].Ports, web.Members[1].UID = map[string]int32{"http": 9090}, "new"
		b.want(web)
		b.settle()
		b.wantRules("sg-node", "tcp 8080 from sg-lb", "tcp 9090 from sg-lb")
		web.Members = web.Members[1:]
		b.want(web)
		b.settle()
		b.wantRules("sg-node", "tcp 9090 from sg-lb")
	})
}
