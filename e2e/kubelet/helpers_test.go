// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/targetgate/targetgate/e2e/kubelet/address"
)

// startTest starts a kubelet with one node and a fake API server; at the end it checks that no gate was written.
func startTest(t *testing.T, edit ...func(*Options)) (*Kubelet, *api) {
	t.Helper()
	a := newAPI(t)
	options := Options{Client: a.client, Nodes: NumberedNodes(1), Scale: testScale}
	options.Nodes[0].PodCIDR = freshCIDR()
	for _, e := range edit {
		e(&options)
	}
	k, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		k.Close()
		if len(a.gates) > 0 {
			t.Errorf("the kubelet wrote a gate's condition: %v", a.gates)
		}
	})
	return k, a
}

// freshCIDR makes addresses that no other run of the tests on this machine is likely to use at the same time.
func freshCIDR() netip.Prefix {
	now := time.Now().UnixNano()
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(128 + now>>16&63), byte(now >> 22), 0}), 24)
}

type podOption func(*corev1.Pod)

// newPod is a bound pod with one container that listens on port 8080.
func newPod(name string, options ...podOption) *corev1.Pod {
	grace := int64(30)
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: types.UID(name + "-uid"), Generation: 1},
		Spec: corev1.PodSpec{
			NodeName: "node-1", RestartPolicy: corev1.RestartPolicyAlways, TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{{
				Name: "web", Image: "web:1", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
			}},
		},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}},
	}
	for _, o := range options {
		o(p)
	}
	return p
}

func withEnv(pairs ...string) podOption {
	return func(p *corev1.Pod) {
		for i := 0; i < len(pairs); i += 2 {
			p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, corev1.EnvVar{Name: pairs[i], Value: pairs[i+1]})
		}
	}
}

func withGate(p *corev1.Pod) {
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate}}
}

func withGrace(seconds int64) podOption {
	return func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = &seconds }
}

func withPreStop(seconds int64) podOption {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{
			PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: seconds}},
		}
	}
}

func withReadiness(probe corev1.Probe) podOption {
	return func(p *corev1.Pod) {
		if probe.HTTPGet == nil && probe.TCPSocket == nil && probe.Exec == nil {
			probe.HTTPGet = &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromString("http")}
		}
		p.Spec.Containers[0].ReadinessProbe = &probe
	}
}

func isReady(p *corev1.Pod) bool { return p != nil && isTrue(p, corev1.PodReady) }

func isUnready(p *corev1.Pod) bool {
	return p != nil && p.Status.PodIP != "" && !isTrue(p, corev1.PodReady)
}

func isGone(p *corev1.Pod) bool { return p == nil }

// urlOf is where the pod really listens.
func urlOf(p *corev1.Pod, path string) string {
	return "http://" + socket(p) + path
}

func socket(p *corev1.Pod) string {
	return net.JoinHostPort(address.Socket(netip.MustParseAddr(p.Status.PodIP)).String(), "8080")
}

// get returns the status code as text, or "error".
func get(ctx context.Context, url string) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return "error"
	}
	_ = response.Body.Close()
	return strconv.Itoa(response.StatusCode)
}

// answers polls until the pod answers like that.
func answers(t *testing.T, p *corev1.Pod, path, want string) {
	t.Helper()
	eventually(t, p.Name+path+" answers "+want, func() bool { return get(t.Context(), urlOf(p, path)) == want })
}

// moment returns when an event of the pod came first.
func moment(t *testing.T, k *Kubelet, pod string, event Event) time.Time {
	t.Helper()
	var at time.Time
	eventually(t, pod+" "+string(event), func() bool {
		for _, m := range k.Moments() {
			if m.Pod == pod && m.Event == event {
				at = m.At
				return true
			}
		}
		return false
	})
	return at
}

func happened(k *Kubelet, pod string, event Event) bool { return times(k, pod, event) > 0 }

func times(k *Kubelet, pod string, event Event) (n int) {
	for _, m := range k.Moments() {
		if m.Pod == pod && m.Event == event {
			n++
		}
	}
	return n
}
