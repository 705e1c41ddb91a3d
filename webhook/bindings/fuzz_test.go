// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/webhook/webhooktest"
)

// FuzzBindingReview: whatever comes, there is no panic, a refusal is one for what is invalid and stays short, a patch can be
// applied and changes nothing the second time, and all of it takes no more memory than the review is counted for.
func FuzzBindingReview(f *testing.F) {
	for _, binding := range []string{
		specOf(completeSpec),
		specOf(`"targetGroupName":"web","serviceRef":{"name":"web","port":"http"}`),
		specOf(instanceSpec(`,"nodeSelector":{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"a","operator":"In","values":["b"]}]}`)),
		specOf(completeSpec + `,"networking":{"ingress":[{"from":[{"ipBlock":{"cidr":"10.0.0.0/8"}}],"ports":[{"port":80},{"port":"http"}]}]}`),
		specOf(`"targetType":5,"nodeSelector":[],"networking":"x","serviceRef":null`),
		`{"metadata":null,"spec":null,"status":{"targetGroup":{"protocol":"HTTP"}}}`,
		`{"Spec":{"TARGETGROUPNAME":"web"}}`, `[]`, `null`, `{}`,
	} {
		f.Add([]byte(bindingReviewOf(binding, "")))
		f.Add([]byte(bindingReviewOf(binding, specOf(completeSpec))))
	}
	f.Add([]byte(`{"request":null}`))
	f.Add([]byte(`{"request":{"object":"` + "\xff" + `"}}`))
	mutating, validating := mutating(f), validating(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		assertReviewed(t, validating, body)
		response := assertReviewed(t, mutating, body)
		if response == nil || len(response.Patch) == 0 {
			return
		}
		var review map[string]any
		if err := json.Unmarshal(body, &review); err != nil {
			t.Fatal(err)
		}
		request := review["request"].(map[string]any)
		request["object"] = json.RawMessage(webhooktest.Patched(t, webhooktest.Encode(t, request["object"]), string(response.Patch)))
		if again := assertReviewed(t, mutating, []byte(webhooktest.Encode(t, review))); again == nil || len(again.Patch) > 0 {
			t.Errorf("mutating it again gives %+v, want no patch", again)
		}
	})
}

// assertReviewed has the hook review the body; the response is nil when the call fails.
func assertReviewed(t *testing.T, hook http.Handler, body []byte) *admissionv1.AdmissionResponse {
	t.Helper()
	w, req := webhooktest.NewRecorder(), httptest.NewRequest(http.MethodPost, MutatePath, bytes.NewReader(body))
	hook.ServeHTTP(w, req)
	if w.Code != http.StatusOK {
		return nil
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &review); err != nil || review.Response == nil {
		t.Fatalf("the answer %q is no review: %v", w.Body, err)
	}
	if r := review.Response; !r.Allowed {
		assertCoded(t, r.Result)
	}
	if most := 100_000 + 8*len(review.Response.UID); w.Body.Len() > most {
		t.Errorf("the answer has %d bytes, want at most %d", w.Body.Len(), most)
	}
	return review.Response
}

// assertCoded wants a refusal that makes nobody delete the object, unless all that is wrong takes a new one.
func assertCoded(t *testing.T, why *metav1.Status) {
	t.Helper()
	if why == nil || why.Message == "" || why.Details == nil {
		t.Fatalf("refusal %+v, want one with a message and its causes", why)
	}
	if strings.Contains(why.Message, "is immutable") || strings.Contains(why.Message, "immutable field") {
		t.Errorf("Flux takes %q for a change that takes a new object", why.Message)
	}
	fixed := false
	for _, cause := range why.Details.Causes {
		fixed = fixed || strings.Contains(cause.Message, "cannot be changed in place")
	}
	if want := map[bool]int32{true: http.StatusUnprocessableEntity, false: http.StatusForbidden}; why.Code != want[false] && (!fixed || why.Code != want[true]) {
		t.Errorf("code %d of %q, want 403, or 422 if a field cannot be changed in place", why.Code, why.Message)
	}
}

// A review that names a UID of another kind, or none, is answered all the same.
func TestBindingReviewEchoesUID(t *testing.T) {
	for _, uid := range []types.UID{"", "1", types.UID(strings.Repeat("x", 100))} {
		body := strings.Replace(bindingReviewOf(specOf(completeSpec), ""), `"uid":"1"`, `"uid":"`+string(uid)+`"`, 1)
		if response := assertReviewed(t, validating(t), []byte(body)); response == nil || response.UID != uid {
			t.Errorf("response %+v, want UID %q", response, uid)
		}
	}
}
