// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const review = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","object":{}}}`

// Rule 11: only a refusal that is meant reaches the API server as one.
func TestServerErrors(t *testing.T) {
	tests := map[string]struct {
		handle      admission.HandlerFunc
		wantStatus  int
		wantAllowed bool
		wantText    string
	}{
		"allowed": {handle: func(context.Context, admission.Request) admission.Response { return admission.Allowed("") }, wantStatus: 200, wantAllowed: true},
		"refused": {handle: func(context.Context, admission.Request) admission.Response { return admission.Denied("no") }, wantStatus: 200},
		"request we cannot read": {
			handle: func(context.Context, admission.Request) admission.Response {
				return admission.Errored(400, errors.New("bad"))
			},
			wantStatus: 500, wantText: "bad",
		},
		"internal": {
			handle: func(context.Context, admission.Request) admission.Response {
				return admission.Errored(500, errors.New("our fault"))
			},
			wantStatus: 500, wantText: "our fault",
		},
		"panic": {handle: func(context.Context, admission.Request) admission.Response { panic("our fault") }, wantStatus: 500, wantText: "our fault"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(serverErrors(mutation, &admission.Webhook{Handler: tc.handle}))
			defer server.Close()
			resp, err := http.Post(server.URL+podPath, "application/json", strings.NewReader(review))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != tc.wantStatus {
				t.Fatalf("HTTP status %d, want %d", resp.StatusCode, tc.wantStatus)
			}
			if tc.wantStatus != http.StatusOK {
				assertText(t, resp, tc.wantText)
				return
			}
			var out admissionv1.AdmissionReview
			if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
				t.Fatal(err)
			}
			if out.Response.Allowed != tc.wantAllowed || out.Response.UID != "1" {
				t.Errorf("response %+v, want allowed %v for request 1", out.Response, tc.wantAllowed)
			}
		})
	}
}

func assertText(t *testing.T, resp *http.Response, want string) {
	t.Helper()
	var body strings.Builder
	if err := resp.Write(&body); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(body.String(), want) {
		t.Errorf("answer %q does not say %q", body.String(), want)
	}
}
