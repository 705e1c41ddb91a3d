// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package admission

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/cluster"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// edit is an operation of a JSON patch.
type edit struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// neighbour is a mutating webhook of somebody else: what it changes in a pod.
type neighbour func(*corev1.Pod) []edit

// addMesh is a sidecar injector that starts its container before the others, as service meshes do, and has the pod wait for it.
// So the positions of all containers and gates change.
func addMesh(pod *corev1.Pod) []edit {
	if slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == "mesh" }) {
		return nil
	}
	gates := append([]corev1.PodReadinessGate{{ConditionType: "mesh.example.com/ready"}}, pod.Spec.ReadinessGates...)
	return []edit{
		{"add", "/spec/containers/0", corev1.Container{Name: "mesh", Image: "mesh"}},
		{"add", "/spec/readinessGates", gates},
		{"add", "/metadata/labels/mesh", "enabled"},
	}
}

// addDefaults gives the pod the label by which the Service selects it, and a gate and annotation of its own.
func addDefaults(app string) neighbour {
	return func(pod *corev1.Pod) []edit {
		if pod.Labels["app"] == app {
			return nil
		}
		return []edit{
			{"add", "/metadata/labels/app", app},
			{"add", "/metadata/annotations", map[string]string{"defaults.example.com/applied": "true"}},
			{"add", "/spec/readinessGates", []corev1.PodReadinessGate{{ConditionType: "defaults.example.com/ready"}}},
		}
	}
}

// Whatever other webhooks do before and after us, and however often we are asked, a pod gets each gate once and is given
// time to leave once, in the containers that are added after us, too.
func TestPodsAreGatedAmongOtherWebhooks(t *testing.T) {
	app := suite.NewApp("among")
	app.Replicas = 0
	bed.Deploy(t, app)
	bed.AwaitGated(t, app)
	before, after := installNeighbour(t, app, "aa-"+app.Name, addDefaults(app.Name)), installNeighbour(t, app, "zz-"+app.Name, addMesh)

	var once *corev1.Pod
	suite.Eventually(t, "both webhooks to be asked", func() error {
		once = suite.BarePod(app.Name, map[string]string{"tier": "front"})
		if err := bed.Client.Create(t.Context(), once, client.DryRunAll); err != nil {
			return err
		}
		if once.Labels["app"] == "" || len(once.Spec.Containers) != 2 {
			return fmt.Errorf("labels %v, %d containers", once.Labels, len(once.Spec.Containers))
		}
		return nil
	})
	if before.Load() < 2 || after.Load() < 1 {
		t.Errorf("asked %d and %d times, want the first one again after what the others changed", before.Load(), after.Load())
	}
	wantGates := []corev1.PodReadinessGate{
		{ConditionType: "mesh.example.com/ready"}, {ConditionType: "defaults.example.com/ready"}, {ConditionType: app.Gate()},
	}
	if diff := cmp.Diff(wantGates, once.Spec.ReadinessGates); diff != "" {
		t.Errorf("gates (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(leave{60, map[string]int64{"web": 30, "mesh": 30}}, leaveOf(once)); diff != "" {
		t.Errorf("time to leave (-want +got):\n%s", diff)
	}

	again := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: once.Namespace, Name: once.Name, Labels: once.Labels, Annotations: once.Annotations,
	}}
	once.Spec.DeepCopyInto(&again.Spec) // as a tool does that restores a backup
	suite.Must(t, bed.Client.Create(t.Context(), again, client.DryRunAll))
	if diff := cmp.Diff(once.Spec.ReadinessGates, again.Spec.ReadinessGates); diff != "" {
		t.Errorf("gates of the same pod, created again (-once +again):\n%s", diff)
	}
	if diff := cmp.Diff(leaveOf(once), leaveOf(again)); diff != "" {
		t.Errorf("time to leave of the same pod, created again (-once +again):\n%s", diff)
	}
	if diff := cmp.Diff(once.Annotations, again.Annotations); diff != "" {
		t.Errorf("annotations of the same pod, created again (-once +again):\n%s", diff)
	}
}

// Pods that cannot need a gate are no work for us.
func TestPodsWithoutNeedAreNotReviewed(t *testing.T) {
	app := suite.NewApp("needless")
	app.Replicas = 0
	bed.Deploy(t, app)
	bed.AwaitGated(t, app)
	before := reviewed(t)
	for _, tc := range []struct {
		name, mirror string
		labels       map[string]string
	}{
		{"of no labels", "", nil},
		{"a static pod's mirror", "hash", map[string]string{"app": app.Name}},
	} {
		pod := suite.BarePod(app.Name, tc.labels)
		if tc.mirror != "" {
			pod.Annotations, pod.Spec.NodeName = map[string]string{corev1.MirrorPodAnnotationKey: tc.mirror}, "nowhere"
			pod.Spec.AutomountServiceAccountToken = ptr.To(false)
		}
		if err := bed.Client.Create(t.Context(), pod, client.DryRunAll); err != nil {
			t.Errorf("creating a pod, %s: %v", tc.name, err)
		}
		if got := reviewed(t); got != before {
			t.Errorf("pod %s: reviewed (%s, %s before)", tc.name, got, before)
			before = got
		}
	}
	suite.Must(t, bed.Client.Create(t.Context(), suite.BarePod(app.Name, map[string]string{"app": "other"}), client.DryRunAll))
	if reviewed(t) == before {
		t.Error("a pod with labels was not reviewed")
	}
}

// reviewed is the line of metrics that counts pods that were reviewed.
func reviewed(t *testing.T) string {
	t.Helper()
	lines, err := bed.MetricLines(t, `targetgate_webhook_seconds_count{webhook_name="/mutate-v1-pod"}`)
	suite.Must(t, err)
	return strings.Join(lines, "")
}

// installNeighbour has the API server ask a webhook about pods of the app; by the configuration's name it is asked before or
// after targetgate's. It returns how often it was asked.
func installNeighbour(t *testing.T, app *testbed.App, name string, mutate neighbour) *atomic.Int64 {
	t.Helper()
	dir := t.TempDir()
	ca, err := cluster.ServingCertificate(dir, "127.0.0.1")
	suite.Must(t, err)
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	suite.Must(t, err)
	var asked atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		mutate.review(w, r)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	t.Cleanup(server.Close)
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "neighbour.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
			ClientConfig:       admissionregistrationv1.WebhookClientConfig{URL: &server.URL, CABundle: ca},
			ReinvocationPolicy: ptr.To(admissionregistrationv1.IfNeededReinvocationPolicy),
			NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: app.Name},
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}
	suite.Must(t, bed.Client.Create(t.Context(), configuration))
	t.Cleanup(func() {
		if err := bed.Client.Delete(context.Background(), configuration); err != nil {
			t.Errorf("deleting webhook configuration %s: %v", name, err)
		}
	})
	return &asked
}

func (n neighbour) review(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	var pod corev1.Pod
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := json.Unmarshal(review.Request.Object.Raw, &pod); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	if edits := n(&pod); len(edits) > 0 {
		patch, err := json.Marshal(edits)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		review.Response.Patch, review.Response.PatchType = patch, ptr.To(admissionv1.PatchTypeJSONPatch)
	}
	review.Request = nil
	_ = json.NewEncoder(w).Encode(review) // the API server says so when it gets no answer
}
