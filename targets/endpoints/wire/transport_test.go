// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"k8s.io/client-go/rest"
)

func TestClientFiltersProtobuf(t *testing.T) {
	list, event := encode(t, podList(3)), change{"ADDED", typicalPod()}.frame(t)
	tests := map[string]struct {
		contentType, encoding string
		status                int
		body                  []byte
		want                  bool
	}{
		"a list":     {"application/vnd.kubernetes.protobuf", "", 200, list, true},
		"a watch":    {"application/vnd.kubernetes.protobuf;stream=watch", "", 200, event, true},
		"JSON":       {"application/json", "", 200, list, false},
		"no type":    {"", "", 200, list, false},
		"a refusal":  {"application/vnd.kubernetes.protobuf", "", 403, list, false},
		"compressed": {"application/vnd.kubernetes.protobuf", "br", 200, list, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Accept-Encoding"); got != "" {
					t.Errorf("the client accepts %s", got)
				}
				w.Header()["Content-Type"] = []string{tc.contentType}
				w.Header().Set("Content-Length", strconv.Itoa(len(tc.body)))
				if tc.encoding != "" {
					w.Header().Set("Content-Encoding", tc.encoding)
				}
				w.WriteHeader(tc.status)
				_, _ = w.Write(tc.body)
			}))
			defer server.Close()
			authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
			client, err := NewClient(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: authority}})
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Get(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			got, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			if filtered := !bytes.Equal(got, tc.body); filtered != tc.want {
				t.Errorf("filtered: %v, want %v", filtered, tc.want)
			}
			if length := response.ContentLength; tc.want && (length != -1 || response.Header.Get("Content-Length") != "") {
				t.Errorf("the answer says that it has %d bytes", length)
			}
		})
	}
}
