// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingresses

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/targetgate/targetgate/webhook/review"
	"github.com/targetgate/targetgate/webhook/webhooktest"
)

// paramsOf are IngressClassParams with that spec.
func paramsOf(spec string) []byte {
	return []byte(`{"apiVersion":"elbv2.k8s.aws/v1beta1","kind":"IngressClassParams","metadata":{"name":"alb"},"spec":{` + spec + `}}`)
}

func askBeforeCRD(t *testing.T, spec, before string) *admissionv1.AdmissionResponse {
	t.Helper()
	request := &admissionv1.AdmissionRequest{
		UID: "uid", Operation: admissionv1.Update, Object: runtime.RawExtension{Raw: paramsOf(spec)}, OldObject: runtime.RawExtension{Raw: paramsOf(before)},
	}
	body, err := json.Marshal(admissionv1.AdmissionReview{Request: request})
	if err != nil {
		t.Fatal(err)
	}
	w := webhooktest.NewRecorder()
	NewBeforeCRD().ServeHTTP(w, httptest.NewRequest(http.MethodPost, MutateParamsPath, bytes.NewReader(body)))
	var answer admissionv1.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
		t.Fatalf("status %d, %q: %v", w.Code, w.Body, err)
	}
	return answer.Response
}

// The CRD answers 422, for which tools delete the IngressClassParams: then all Ingresses of the class are held.
func TestParamsAreRefusedBeforeTheCRD(t *testing.T) {
	for spec, want := range map[string]string{
		`"scheme":"public"`: `spec.scheme: Unsupported value: "public": supported values: "internal", "internet-facing"`,
		`"ipAddressType":5`: "spec.ipAddressType: Invalid value: must be a string, not number",
		`"group":{}`:        "spec.group.name: Required value: must be set",
		`"tags":[{"key":"a"}],"inboundCIDRs":["10.0.0.0/8"]`: "spec.tags[0].value: Required value: must be set",
		`"subnets":{"ids":["none"]}`:                         `spec.subnets.ids[0]: Invalid value: "none": must match subnet-[0-9a-f]+`,
		`"subnets":{"ids":[]}`:                               "spec.subnets.ids: Invalid value: must have at least 1 items",
		`"listeners":[{"protocol":"TCP","port":80}]`:         `spec.listeners[0].protocol: Unsupported value: "TCP": supported values: "HTTP", "HTTPS"`,
		`"listeners":[{"port":5000000000}]`:                  "spec.listeners[0].port: Invalid value: 5000000000: must fit into 32 bits",
		`"prefixListsIDs":["pl-1"],"PrefixListsIDs":[]`:      "spec: set prefixListsIDs alone; PrefixListsIDs is its old spelling",
		`"inboundCIDRs":["10.0.0.1/8"]`:                      `spec.inboundCIDRs[0], value "10.0.0.1/8": has host bits, must be 10.0.0.0/8`,
	} {
		response := askBeforeCRD(t, spec, "")
		if response.Allowed || response.Result.Code != http.StatusForbidden || !strings.Contains(response.Result.Message, want) {
			t.Errorf("%s: allowed %v, %+v, want 403 with %q", spec, response.Allowed, response.Result, want)
		}
	}
	for spec, before := range map[string]string{
		`"scheme":"internal"`:                     `"scheme":"public"`,
		`"scheme":"public","sslPolicy":"a"`:       `"scheme":"public"`, // as the API server allows
		`"scheme":null,"certificateArn":["none"]`: ``,
	} {
		if response := askBeforeCRD(t, spec, before); !response.Allowed || len(response.Warnings) > 0 {
			t.Errorf("%s after %s: %+v, want it allowed, and no warning twice", spec, before, response)
		}
	}
}

func TestParamsReviewCostIsLinear(t *testing.T) {
	hostile := func(bytes int) map[string]string {
		return map[string]string{
			"CIDRs":       string(paramsOf(`"inboundCIDRs":[` + webhooktest.Listed(`"x"`, bytes) + `]`)),
			"few CIDRs":   string(paramsOf(`"inboundCIDRs":[` + webhooktest.Listed(`"`+strings.Repeat("x", 1000)+`"`, bytes) + `]`)),
			"tags":        string(paramsOf(`"tags":[` + webhooktest.Listed(`{}`, bytes) + `]`)),
			"labels":      string(paramsOf(`"namespaceSelector":{"matchLabels":{` + webhooktest.Numbered(bytes) + `}}`)),
			"a long name": string(paramsOf(`"loadBalancerName":"` + strings.Repeat("x", bytes) + `"`)),
		}
	}
	webhooktest.CheckGrowth(t, NewBeforeCRD(), hostile, func(params string) string {
		return `{"request":{"uid":"1","operation":"CREATE","object":` + params + `}}`
	}, review.Weight)
}
