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
	if r := review.Response; !r.Allowed && (r.Result == nil || r.Result.Code != http.StatusUnprocessableEntity || r.Result.Message == "") {
		t.Fatalf("the answer %q is a refusal for something else than what is invalid", w.Body)
	}
	if most := 100_000 + 8*len(review.Response.UID); w.Body.Len() > most {
		t.Errorf("the answer has %d bytes, want at most %d", w.Body.Len(), most)
	}
	return review.Response
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
