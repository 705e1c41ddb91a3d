// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

func modelOpNames() []string { return slices.Sorted(maps.Keys(modelOps)) }

// shares reports whether a binding says that clusters share the group, and none says that they do not.
func (m *model) shares(arn string) bool {
	shared := false
	for _, b := range listOf[*v1beta1.TargetGroupBinding](m.store) {
		if b.Spec.TargetGroupARN == arn {
			if !b.Spec.MultiClusterTargetGroup {
				return false
			}
			shared = true
		}
	}
	return shared
}

// createPod takes a name and an address that may have been another pod's.
func createPod(m *model, s step) { m.createPod(s, shapeOf(s)) }

func (m *model) createPod(s step, shape podShape) {
	app := serviceName(s.a)
	name, address := fmt.Sprintf("%s-%d", app, s.b%6), fmt.Sprintf("10.0.%d.%d", s.a%3, 1+s.c%7)
	for _, pod := range listOf[*corev1.Pod](m.store) {
		if pod.Name == name || !ended(pod) && m.pods[pod.UID].address == address {
			return
		}
	}
	node := nodeName(s.c / 7)
	if stored[*corev1.Node](m.store, "", node) == nil || !m.nodes[node].downSince.IsZero() {
		return
	}
	m.addPod(shape, app, name, address, node)
}

func (m *model) addPod(shape podShape, app, name, address, node string) *modelPod {
	pod := &corev1.Pod{ObjectMeta: shopMeta(name)}
	pod.CreationTimestamp = metav1.NewTime(time.Now().Truncate(time.Second))
	hash := "v" + shape.version
	pod.UID, pod.Labels = m.uid(name), map[string]string{"app": app, "version": shape.version, "pod-template-hash": hash}
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: app + "-" + hash, UID: types.UID(app + hash), Controller: ptr.To(true)}}
	pod.Spec.NodeName = node
	pod.Spec.TerminationGracePeriodSeconds = ptr.To(int64(shape.ownGrace().Seconds()))
	pod.Spec.Containers = shape.containers()
	if shape.atOnce {
		pod.Annotations = map[string]string{"targetgate.dev/keep-until-replaced": "false"}
	}
	if shape.gated {
		pod.Spec.ReadinessGates = m.admitted(pod)
	}
	pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, shape.gatesOfOthers()...)
	p := &modelPod{podShape: shape, address: address, twins: pod.UID, born: time.Now(), ready: true, mayServe: true}
	m.pods[pod.UID] = p
	m.store.put(pod)
	return p
}

// createTwin makes a second pod at the address and port of one that lives: in the host network, with SO_REUSEPORT. Neither sleeps: when
// they are deleted they leave at once.
func createTwin(m *model, s step) {
	m.withPod(s, func(pod *corev1.Pod) {
		app := pod.Name[:2]
		name := fmt.Sprintf("%s-%d", app, s.b%6)
		sleeps := m.pods[pod.UID].sleep > 0
		if stored[*corev1.Pod](m.store, "shop", name) == nil && live(pod) && !sleeps && !without("twins") {
			twin := m.pods[pod.UID]
			m.addPod(shapeOf(s), app, name, twin.address, pod.Spec.NodeName).twins = twin.twins
		}
	})
}

func (m *model) withPod(s step, do func(*corev1.Pod)) {
	if pods := listOf[*corev1.Pod](m.store); len(pods) > 0 {
		do(pods[s.a%len(pods)])
	}
}

func (m *modelStore) removePod(pod *corev1.Pod) { m.remove(pod) }

// endPod is an eviction by the kubelet: the pod's object stays, and its address may be the next pod's.
func endPod(m *model, s step) {
	m.withPod(s, func(pod *corev1.Pod) {
		edit(m.store, pod, func(o *corev1.Pod) { o.Status.Phase = corev1.PodFailed })
	})
}

func labelPod(m *model, s step) {
	m.withPod(s, func(pod *corev1.Pod) {
		edit(m.store, pod, func(o *corev1.Pod) {
			if o.Labels["app"] = o.Name[:2]; s.b%2 == 0 {
				o.Labels["app"] = "debugged"
			}
		})
	})
}

func nodeDown(m *model, s step) {
	if node := m.nodes[nodeName(s.a)]; node.downSince.IsZero() {
		node.downSince = time.Now()
	}
}

// nodeUp repairs a machine, or brings another one under its name.
func nodeUp(m *model, s step) {
	name := nodeName(s.a)
	if m.nodes[name].goneSince.IsZero() {
		m.nodes[name].downSince, m.nodes[name].endsSince, m.nodes[name].shutDown = time.Time{}, time.Time{}, false
		m.taint(name)
		return
	}
	for _, pod := range listOf[*corev1.Pod](m.store) {
		if pod.Spec.NodeName == name {
			m.store.remove(pod)
		}
	}
	m.addNode(name)
}

// loseNode is the end of an instance that the cloud's controller finds out at once.
func loseNode(m *model, s step) {
	nodeDown(m, s)
	deleteNode(m, s)
}

// deleteNode is the cloud's controller, which finds that the machine is gone.
func deleteNode(m *model, s step) {
	name := nodeName(s.a)
	o := stored[*corev1.Node](m.store, "", name)
	if o == nil || m.nodes[name].downSince.IsZero() || without("lostNodes") {
		return
	}
	m.nodes[name].goneSince = time.Now()
	m.store.remove(o)
}

func markNode(m *model, s step) {
	edit(m.store, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(s.a)}}, func(o *corev1.Node) {
		o.Spec.Taints = nil // notices, too: whoever gave them has changed his mind
		delete(o.Labels, corev1.LabelNodeExcludeBalancers)
		switch s.b % 4 {
		case 0:
			o.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule}}
		case 1:
			o.Labels[corev1.LabelNodeExcludeBalancers] = ""
		}
	})
}

// failAWS has calls fail for some seconds.
func failAWS(m *model, s step) {
	operations := []string{"", "RegisterTargets", "DeregisterTargets", "DescribeTargetHealth", "DescribeTargetGroups"}
	kinds := []string{"throttle", "internal", "denied", "lateEffect", "lost", "late", "omits"}
	m.aws.mu.Lock()
	defer m.aws.mu.Unlock()
	until := time.Now().Add(time.Duration(1+s.c%20) * time.Second)
	m.aws.faults[operations[s.a%len(operations)]] = modelFault{kinds[s.b%len(kinds)], until}
}

// lagCache has the cache of a kind be late.
func lagCache(m *model, s step) {
	kinds := []string{"Pod", "EndpointSlice", "Service", "TargetGroupBinding", "Node"}
	m.store.mu.Lock()
	defer m.store.mu.Unlock()
	kind := kinds[s.a%len(kinds)]
	if kind == "TargetGroupBinding" && without("rebirth") {
		return
	}
	m.lag[kind] = time.Duration(s.b%10) * time.Second
	m.lagUntil[kind] = time.Now().Add(time.Duration(1+s.c%20) * time.Second)
}

// failWrites has the API server refuse writes of a kind, or take its time.
func failWrites(m *model, s step) {
	kinds := []string{"pods", "statuses", "bindings", "configmaps"}
	m.store.mu.Lock()
	defer m.store.mu.Unlock()
	kind := kinds[s.a%len(kinds)]
	m.store.slow[kind] = time.Duration(s.b%2) * 20 * time.Second
	m.store.refused[kind] = time.Now().Add(time.Duration(1+s.c%90) * time.Second)
}
