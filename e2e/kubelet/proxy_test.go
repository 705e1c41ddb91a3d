// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"net"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/e2e/kubelet/address"
)

const nodePort = 30080

func endpoint(ip, node string, ready bool) discoveryv1.Endpoint {
	conditions := discoveryv1.EndpointConditions{Ready: &ready, Serving: &ready}
	return discoveryv1.Endpoint{Addresses: []string{ip}, NodeName: &node, Conditions: conditions}
}

func slice(name string, port int32, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace, Labels: map[string]string{discoveryv1.LabelServiceName: "web"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: &port, Protocol: ptr.To(corev1.ProtocolTCP)}},
		Endpoints:   endpoints,
	}
}

// proxyBed is two nodes, a pod on the first, and a NodePort Service with that pod in its slice.
type proxyBed struct {
	*testing.T
	api     *api
	kubelet *Kubelet
	nodes   []Node
	pod     *corev1.Pod
}

func startProxyBed(t *testing.T, policy corev1.ServiceExternalTrafficPolicy) *proxyBed {
	nodes := NumberedNodes(2)
	nodes[0].PodCIDR = freshCIDR()
	second := nodes[0].PodCIDR.Addr().As4()
	second[1] ^= 64
	nodes[1].PodCIDR = netip.PrefixFrom(netip.AddrFrom4(second), 24)
	k, a := startTest(t, func(o *Options) { o.Nodes = nodes })
	b := &proxyBed{T: t, api: a, kubelet: k, nodes: nodes}
	a.create(newPod("web-1"))
	b.pod = a.wait("web-1", "ready", isReady)
	b.must(a.client.Tracker().Add(slice("web-1", 8080, endpoint(b.pod.Status.PodIP, "node-1", true))))
	b.must(a.client.Tracker().Add(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeNodePort, ExternalTrafficPolicy: policy,
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, NodePort: nodePort}},
		},
	}))
	return b
}

func (b *proxyBed) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *proxyBed) door(node int) string {
	return netip.AddrPortFrom(address.Socket(b.nodes[node].hostIP()), nodePort).String()
}

// answers waits until the node's port answers as wanted: a status code, or error.
func (b *proxyBed) answers(node int, want string) {
	b.Helper()
	eventually(b.T, b.door(node)+" answers "+want, func() bool { return get(b.Context(), "http://"+b.door(node)+"/") == want })
}

// edit changes the Service's only slice.
func (b *proxyBed) edit(endpoints ...discoveryv1.Endpoint) {
	b.Helper()
	resource := discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
	b.must(b.api.client.Tracker().Update(resource, slice("web-1", 8080, endpoints...), namespace))
}

func (b *proxyBed) deleteService() {
	b.Helper()
	b.must(b.api.client.CoreV1().Services(namespace).Delete(b.Context(), "web", metav1.DeleteOptions{}))
}

func TestNodePortLeadsToPodsOfAllNodes(t *testing.T) {
	b := startProxyBed(t, corev1.ServiceExternalTrafficPolicyCluster)
	b.answers(0, "200")
	b.answers(1, "200")
	b.edit(endpoint(b.pod.Status.PodIP, "node-1", false))
	b.answers(0, "error")
	b.edit(endpoint(b.pod.Status.PodIP, "node-1", true))
	b.answers(1, "200")
	b.deleteService()
	b.answers(0, "error")
	b.answers(1, "error")
}

func TestLocalNodePortIsRefusedWhereThereIsNoPod(t *testing.T) {
	b := startProxyBed(t, corev1.ServiceExternalTrafficPolicyLocal)
	b.answers(0, "200")
	if got := get(t.Context(), "http://"+b.door(1)+"/"); got != "error" {
		t.Errorf("a node without pods answers %s", got)
	}
	b.edit(endpoint(b.pod.Status.PodIP, "node-2", true))
	b.answers(1, "200")
	b.answers(0, "error")
}

func TestNodePortOutlivesItsServiceForOpenConnections(t *testing.T) {
	b := startProxyBed(t, "")
	b.answers(0, "200")
	conn, err := net.Dial("tcp", b.door(0))
	b.must(err)
	defer conn.Close()
	exchange := func() error {
		if _, err := conn.Write([]byte("GET / HTTP/1.1\r\nHost: web\r\n\r\n")); err != nil {
			return err
		}
		_, err := conn.Read(make([]byte, 4096))
		return err
	}
	b.must(exchange())
	b.deleteService()
	b.answers(0, "error")
	if err := exchange(); err != nil {
		t.Errorf("an open connection broke with its Service: %v", err)
	}
	b.must(b.kubelet.RemoveNode(t.Context(), "node-1"))
	if err := exchange(); err == nil {
		t.Error("an open connection outlived its node")
	}
}

func TestNodePortOfASilentNodeStaysAsItIs(t *testing.T) {
	b := startProxyBed(t, "")
	b.answers(0, "200")
	b.answers(1, "200")
	b.kubelet.StopHeartbeat("node-2")
	b.deleteService()
	b.answers(0, "error")
	if got := get(t.Context(), "http://"+b.door(1)+"/"); got != "200" {
		t.Errorf("a silent node's port answers %s", got)
	}
	if _, err := b.kubelet.ResumeHeartbeat(t.Context(), "node-2"); err != nil {
		t.Fatal(err)
	}
	b.answers(1, "error")
}

func TestNodePortComesAndGoesWithItsNode(t *testing.T) {
	b := startProxyBed(t, "")
	b.answers(1, "200")
	b.must(b.kubelet.RemoveNode(t.Context(), "node-2"))
	if got := get(t.Context(), "http://"+b.door(1)+"/"); got != "error" {
		t.Errorf("a removed node's port answers %s", got)
	}
	b.must(b.kubelet.AddNode(t.Context(), b.nodes[1]))
	b.answers(1, "200")
}

func TestNodesComeAndGo(t *testing.T) {
	k, a := startTest(t)
	if err := k.AddNode(t.Context(), Node{Name: "node-1"}); err == nil {
		t.Error("a name was taken twice")
	}
	if err := k.AddNode(t.Context(), Node{}); err == nil {
		t.Error("a node without a name was taken")
	}
	cidr := freshCIDR()
	if err := k.AddNode(t.Context(), Node{Name: "late", PodCIDR: cidr}); err != nil {
		t.Fatal(err)
	}
	on := func(p *corev1.Pod) { p.Spec.NodeName = "late" }
	a.create(newPod("web-1", on, withPreStop(300), withGrace(600)))
	p := a.wait("web-1", "ready", isReady)
	answers(t, p, "/", "200")
	a.remove("web-1", nil)
	moment(t, k, "web-1", PreStopStart)
	if err := k.RemoveNode(t.Context(), "late"); err != nil {
		t.Fatal(err)
	}
	if got := get(t.Context(), urlOf(p, "/")); got != "error" {
		t.Errorf("a pod of a terminated instance answers %s", got)
	}
	if a.pod("web-1") == nil {
		t.Error("a terminated instance took its pod out of the API")
	}
	if _, err := a.client.CoreV1().Nodes().Get(t.Context(), "late", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Node object: %v", err)
	}
	if err := k.RemoveNode(t.Context(), "late"); err == nil {
		t.Error("a node was removed twice")
	}
	a.remove("web-1", new(int64))
	moment(t, k, "web-1", Gone)
}

func TestPodRunsAgainOnANodeThatComesBack(t *testing.T) {
	k, a := startTest(t)
	a.create(newPod("web-1"))
	p := a.wait("web-1", "ready", isReady)
	node, _ := k.node("node-1")
	if err := k.RemoveNode(t.Context(), "node-1"); err != nil {
		t.Fatal(err)
	}
	answers(t, p, "/", "error")
	if err := k.AddNode(t.Context(), node.Node); err != nil {
		t.Fatal(err)
	}
	answers(t, p, "/", "200")
}
