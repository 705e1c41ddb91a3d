// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// reviewer asks for reviews as API servers do: by HTTP/1.1 over TLS, on connections that it keeps.
type reviewer struct {
	url    string
	client *http.Client
	bodies [][]byte // one for each that posts
}

// podPath is where pods are reviewed.
const podPath = "/mutate-v1-pod"

// newReviewer posts pods of all kinds that the bindings cover. The server's certificate is not what is measured, and is
// not checked.
func newReviewer(url, namespace string, bindings int) (*reviewer, error) {
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: reviewers,
	}
	r := &reviewer{url: url + podPath, client: &http.Client{Transport: transport, Timeout: time.Minute}}
	for i := range reviewers {
		body, err := podReview(namespace, boundLabels(i*bindings/reviewers))
		if err != nil {
			return nil, err
		}
		r.bodies = append(r.bodies, body)
	}
	return r, nil
}

func (r *reviewer) close() { r.client.CloseIdleConnections() }

// post asks for so many reviews, and returns how long each took.
func (r *reviewer) post(ctx context.Context, count int) ([]time.Duration, error) {
	took := make([]time.Duration, count)
	group, ctx := errgroup.WithContext(ctx)
	for i, body := range r.bodies {
		group.Go(func() error {
			for at := i; at < count; at += len(r.bodies) {
				begin := time.Now()
				if err := r.postOne(ctx, body); err != nil {
					return fmt.Errorf("asking for a review: %w", err)
				}
				took[at] = time.Since(begin)
			}
			return nil
		})
	}
	return took, group.Wait()
}

// postOne fails unless the answer has a patch: the pod is one that gets a gate.
func (r *reviewer) postOne(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"?timeout=3s", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte(`"patch":`)) {
		return fmt.Errorf("%s: %.500s", resp.Status, answer)
	}
	return nil
}

// podBytes is the size of the pod in a review.
const podBytes = 10_000

// podReview is what an API server posts about a new pod of a Deployment, with a pod of podBytes.
func podReview(namespace string, labels map[string]string) ([]byte, error) {
	pod := samplePod(namespace, labels)
	raw, err := json.Marshal(pod)
	if err != nil {
		return nil, fmt.Errorf("encoding the pod: %w", err)
	}
	pod.Spec.Containers[0].Env[0].Value += strings.Repeat("x", podBytes-len(raw))
	if raw, err = json.Marshal(pod); err != nil {
		return nil, fmt.Errorf("encoding the pod: %w", err)
	}
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "705ab4f5-6393-11e8-b7cc-42010a800002", Operation: admissionv1.Create, Namespace: namespace, DryRun: ptr.To(false),
			Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}, RequestKind: &metav1.GroupVersionKind{Version: "v1", Kind: "Pod"},
			Resource:        metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
			RequestResource: &metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
			UserInfo: authenticationv1.UserInfo{
				Username: "system:serviceaccount:kube-system:replicaset-controller", UID: "4b3e0d1c-6393-11e8-b7cc-42010a800002",
				Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"},
			},
			Object:  runtime.RawExtension{Raw: raw},
			Options: runtime.RawExtension{Raw: []byte(`{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}`)},
		},
	}
	body, err := json.Marshal(review)
	if err != nil {
		return nil, fmt.Errorf("encoding the review: %w", err)
	}
	return body, nil
}

// samplePod is one with three containers, as meshes and log shippers make them, of some 7 kB.
func samplePod(namespace string, labels map[string]string) *corev1.Pod {
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "web-7d4b9c6f5d-", Namespace: namespace, Labels: labels,
			Annotations: map[string]string{"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z", "prometheus.io/scrape": "true"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-7d4b9c6f5d", UID: "705ab4f5-6393-11e8-b7cc-42010a800002",
				Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			}},
		},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyAlways, DNSPolicy: corev1.DNSClusterFirst, ServiceAccountName: "default",
			TerminationGracePeriodSeconds: ptr.To[int64](30), SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true)},
			Tolerations: []corev1.Toleration{
				{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: ptr.To[int64](300)},
				{Key: "node.kubernetes.io/unreachable", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: ptr.To[int64](300)},
			},
		},
	}
	for _, name := range []string{"web", "mesh", "log"} {
		pod.Spec.Containers = append(pod.Spec.Containers, sampleContainer(name))
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name})
	}
	return pod
}

func sampleContainer(name string) corev1.Container {
	c := corev1.Container{
		Name: name, Image: "123456789012.dkr.ecr.eu-west-1.amazonaws.com/shop/" + name + ":1.2.3", ImagePullPolicy: corev1.PullIfNotPresent,
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
		},
		VolumeMounts:           []corev1.VolumeMount{{Name: name, MountPath: "/var/lib/" + name}},
		TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	}
	for i := range 20 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_NUMBER_%02d", i), Value: "https://settings.example.com/value"})
	}
	return c
}
