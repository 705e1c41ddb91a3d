// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"
)

// keys are those of labels and annotations, read and not.
var keys = []string{
	"app", "pod-template-hash", discoveryv1.LabelServiceName, "targetgate.dev/keep-until-replaced", "targetgate.dev/other", "targetgate.de",
	"vpc.amazonaws.com/pod-eni", "vpc.amazonaws.com/pod-en", metav1.InitialEventsAnnotationKey, "kubectl.kubernetes.io/last-applied-configuration", "",
	"alb.ingress.kubernetes.io/target-type", "alb.ingress.kubernetes.io/new", "kubernetes.io/ingress.class",
}

// filler fills all fields of an object, but for some that are left empty.
func filler(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(.3).NumElements(0, 4).Funcs(
		func(m *map[string]string, c randfill.Continue) {
			*m = map[string]string{}
			for range c.Intn(len(keys)) {
				(*m)[keys[c.Intn(len(keys))]] = c.String(300)
			}
		},
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewQuantity(c.Int63n(1000), resource.DecimalSI)
		},
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.Unix(c.Int63n(1<<40), 0) },
		func(v *intstr.IntOrString, c randfill.Continue) { *v = intstr.FromInt32(c.Int31()) },
		func(f *metav1.FieldsV1, c randfill.Continue) { f.SetRawString(c.String(100)) },
		func(c *corev1.Container, r randfill.Continue) {
			r.FillNoCustom(c)
			for i := range c.Ports {
				c.Ports[i].Name = []string{"", "http", "admin"}[r.Intn(3)]
			}
		},
		func(c *corev1.PodCondition, r randfill.Continue) {
			r.FillNoCustom(c)
			c.Type = []corev1.PodConditionType{corev1.ContainersReady, corev1.PodReady, "target-health.elbv2.k8s.aws/web"}[r.Intn(3)]
		},
		func(g *corev1.PodReadinessGate, r randfill.Continue) {
			g.ConditionType = []corev1.PodConditionType{"other", "target-health.elbv2.k8s.aws/web"}[r.Intn(2)]
		},
	)
}

// filled is an object with the type that an API server sends.
func filled[T runtime.Object](seed int64, object T) T {
	filler(seed).Fill(object)
	kinds, _, err := clientgoscheme.Scheme.ObjectKinds(object)
	if err != nil {
		panic(err)
	}
	object.GetObjectKind().SetGroupVersionKind(kinds[0])
	return object
}

// typicalPod has what a pod of a web service has in a cluster with a service mesh and a metrics agent: 9 kB.
func typicalPod() *corev1.Pod {
	text := func(size int) string { // that does not compress
		source := rand.New(rand.NewPCG(1, uint64(size)))
		var out strings.Builder
		for out.Len() < size {
			fmt.Fprintf(&out, "%x", source.Uint64())
		}
		return out.String()[:size]
	}
	container := func(name string) corev1.Container {
		probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8080)}}}
		c := corev1.Container{
			Name: name, Image: "123456789012.dkr.ecr.eu-west-1.amazonaws.com/team/" + name + ":1.2.3", LivenessProbe: probe, ReadinessProbe: probe,
			Ports: []corev1.ContainerPort{{Name: "http-" + name, ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi"),
			}},
			Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 30}}},
		}
		for i := range 20 {
			c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", i), Value: text(30)})
		}
		for i := range 4 {
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: fmt.Sprintf("volume-%d", i), MountPath: "/var/run/" + text(20)})
		}
		return c
	}
	yes, hour := true, metav1.NewTime(time.Unix(1_800_000_000, 0))
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-7d4b9c6f5d-x2x4k", GenerateName: "web-7d4b9c6f5d-", UID: "5e1b2a52-95b3-4ad5-8f1c-7a8f0d3f3c11",
			ResourceVersion: "123456789", CreationTimestamp: hour, Labels: map[string]string{
				"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": "web", "app.kubernetes.io/version": "1.2.3",
				"pod-template-hash": "7d4b9c6f5d", "team": "checkout",
			},
			Annotations: map[string]string{"mesh.example.com/status": text(600), "checksum/config": text(64), "prometheus.io/scrape": "true"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-7d4b9c6f5d", UID: "0b0b0b1e-1c1d-4e4f-8a8b-9c9d9e9f0a0b", Controller: &yes,
			}},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{container("web"), container("proxy")}, NodeName: "ip-10-0-1-2.eu-west-1.compute.internal",
			ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "target-health.elbv2.k8s.aws/web"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.1.77", PodIPs: []corev1.PodIP{{IP: "10.0.1.77"}}, HostIP: "10.0.1.2"},
	}
	for _, manager := range []string{"kube-controller-manager", "kubelet", "targetgate"} {
		entry := metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: &metav1.FieldsV1{}}
		entry.FieldsV1.SetRawString(text(700))
		pod.ManagedFields = append(pod.ManagedFields, entry)
	}
	for _, kind := range []corev1.PodConditionType{
		corev1.PodReady, corev1.ContainersReady, corev1.PodInitialized, corev1.PodScheduled, "target-health.elbv2.k8s.aws/web",
	} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: hour,
		})
	}
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: c.Image + "@sha256:" + text(64), ContainerID: "containerd://" + text(64), Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: hour}},
		})
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "config-" + c.Name, VolumeSource: corev1.VolumeSource{
			Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
				ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", Audience: text(30)},
			}}},
		}})
	}
	return pod
}

// codec is that of API servers and clients.
var codec = protobuf.NewSerializer(clientgoscheme.Scheme, clientgoscheme.Scheme)

func encode(t testing.TB, object runtime.Object) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := codec.Encode(object, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func decode(t testing.TB, sent []byte) runtime.Object {
	t.Helper()
	object, _, err := codec.Decode(sent, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return object
}
