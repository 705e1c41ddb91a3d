// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// oneNode is a reader that has one node, as a cache keeps it.
type oneNode struct {
	client.Reader
	node *corev1.Node
}

func (r oneNode) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kept, err := StripNode(r.node)
	*into.(*corev1.Node) = *kept.(*corev1.Node)
	return err
}

// versions of kubelets, and whether their pods get SIGTERM when they are deleted.
var versions = map[string]bool{
	"v1.29.15-eks-abc1234":    true,
	"v1.28.0":                 true,
	"v1.29.99-gke.1":          true,
	"v1.9.11":                 true,
	"v0.30.0":                 true,
	"1.29":                    true,
	"v1.30.0":                 false,
	"v1.30.0-alpha.1+0123456": false,
	"v1.30.14-eks-931bdca":    false,
	"v1.100.0":                false,
	"v2.0.0":                  false,
	"":                        false, // the kubelet has not written its status yet
	"v1":                      false,
	"v1.x":                    false,
	"v01.29.0":                false,
	"v1.29.0\nx":              false,
	"-v1.29.0":                false,
	"latest":                  false,
	"v1.99999999999999999999": false, // more than a number holds
	"v1.29.0-" + strings.Repeat("x", maxKubeletVersion): false, // too long to be kept
}

func TestPodServesUntilItsSleepEndsWhereItsKubeletSleeps(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	pod.Spec.NodeName = "node-1"
	pod.Spec.Containers = []corev1.Container{{Lifecycle: &corev1.Lifecycle{
		PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 30}},
	}}}
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(noon.Add(time.Minute))), ptr.To[int64](60)
	for kubelet, sleepless := range versions {
		t.Run(kubelet, func(t *testing.T) {
			node := newNode("node-1", "i-01", corev1.ConditionTrue)
			node.Status.NodeInfo.KubeletVersion = kubelet
			facts, err := NewResolver(oneNode{node: node}, nil, false).ForPass().nodeOf(t.Context(), pod)
			if err != nil {
				t.Fatal(err)
			}
			want := noon.Add(30 * time.Second)
			if sleepless {
				want = time.Time{}
			}
			for _, listed := range []bool{true, false} {
				ep := newEndpoint(one, pod, facts, testGate)
				if listed {
					ep.judge(facts, sliceWord{ready: true}, testGate)
				} else {
					ep.judgeUnlisted(facts, true)
				}
				if ep.State != Terminating || !ep.ServesUntil.Equal(want) {
					t.Errorf("listed %t: %s until %s, want %s until %s", listed, ep.State, ep.ServesUntil, Terminating, want)
				}
			}
		})
	}
}

// Whatever a kubelet calls itself, no version does harm, and nothing counts but its first two numbers.
func FuzzIsSleepless(f *testing.F) {
	for kubelet := range versions {
		f.Add(kubelet, uint(1), uint(29), kubelet)
	}
	f.Add("", uint(1), uint(30), ".0")
	f.Fuzz(func(t *testing.T, kubelet string, major, minor uint, ending string) {
		isSleepless(kubelet)
		kubelet = fmt.Sprintf("v%d.%d-%s", major, minor, strings.ReplaceAll(ending, "\n", ""))
		want := major < 1 || major == 1 && minor < 30
		if got := isSleepless(kubelet); got != want {
			t.Errorf("%q is sleepless: %t, want %t", kubelet, got, want)
		}
	})
}
