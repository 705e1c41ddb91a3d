// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooktest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Path is the path of all requests. Hooks count them by it.
const Path = "/mutate-v1-pod"

// ARN is the ARN of the target group "web".
const ARN = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/web/0123456789abcdef"

// NewReader is an API server in memory that holds objects.
func NewReader(t testing.TB, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithIndex(&v1beta1.TargetGroupBinding{}, ownership.IndexGroup, func(o client.Object) []string {
			return []string{ownership.Indexes[ownership.IndexGroup](o.(*v1beta1.TargetGroupBinding))}
		}).Build()
}

// NewBinding is of type ip, complete, for Service "web", changed by change.
func NewBinding(name string, change ...func(*v1beta1.TargetGroupBinding)) *v1beta1.TargetGroupBinding {
	b := &v1beta1.TargetGroupBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: v1beta1.TargetGroupBindingSpec{
			TargetGroupARN: ARN, TargetType: ptr.To(v1beta1.TargetTypeIP), IPAddressType: ptr.To(v1beta1.IPAddressTypeIPv4),
			TargetGroupProtocol: ptr.To[v1beta1.Protocol]("HTTP"), VpcID: "vpc-0123456789abcdef0",
			ServiceRef: v1beta1.ServiceReference{Name: "web", Port: intstr.FromInt32(80)},
		},
	}
	for _, c := range change {
		c(b)
	}
	return b
}

// NewService is a Service beside NewBinding, with that selector.
func NewService(name string, selector map[string]string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.ServiceSpec{Selector: selector}}
}

// Scrape is the value of the metric with that name and labels, empty when there is none.
func Scrape(t *testing.T, metric string) string {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	for line := range strings.Lines(w.Body.String()) {
		if value, found := strings.CutPrefix(line, metric); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Post posts a review as API servers do. The response is nil when the call failed.
func Post(t *testing.T, handler http.Handler, body string) (status int, response *admissionv1.AdmissionResponse) {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	resp, err := http.Post(server.URL+Path+"?timeout=3s", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode, nil
	}
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(resp.Body).Decode(&review); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, review.Response
}

// Patched is the raw object after a JSON patch, which API servers apply in the same way.
func Patched(t *testing.T, object, patch string) string {
	t.Helper()
	if patch == "" || patch == "null" {
		return object
	}
	operations, err := jsonpatch.DecodePatch([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	out, err := operations.Apply([]byte(object))
	if err != nil {
		t.Fatalf("the API server could not apply %s: %v", patch, err)
	}
	return string(out)
}

// AssertJSON compares two texts of JSON, whatever the order of keys.
func AssertJSON(t *testing.T, want, got string) {
	t.Helper()
	var wanted, gotten any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(got), &gotten); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, gotten); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
}

// Recorder is a response that has a deadline, as those of servers have.
type Recorder struct{ *httptest.ResponseRecorder }

// NewRecorder returns an empty one.
func NewRecorder() Recorder { return Recorder{httptest.NewRecorder()} }

// SetReadDeadline does nothing.
func (Recorder) SetReadDeadline(time.Time) error { return nil }

// Encode is the value as JSON.
func Encode(t testing.TB, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
