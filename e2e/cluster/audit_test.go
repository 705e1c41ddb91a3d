// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The lines are an API server's, without what is not read.
func TestReadAudit(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
	const when = `"requestReceivedTimestamp":"2026-03-01T12:00:00.123456Z"`
	const allowed = `"annotations":{"authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":"by role"},` + when
	tests := map[string]struct {
		log  string
		want []Request
	}{
		"nothing": {},
		"with a subresource": {
			log: `{"stage":"ResponseComplete","verb":"patch","objectRef":{"resource":"pods","namespace":"shop","name":"web",` +
				`"subresource":"status"},"responseStatus":{"metadata":{},"code":200},` + allowed + `}`,
			want: []Request{{Received: at, Verb: "patch", Resource: "pods/status", Namespace: "shop", Name: "web", Grant: "by role"}},
		},
		"applied to nothing": {
			log: `{"stage":"ResponseComplete","verb":"patch","objectRef":{"resource":"leases","apiGroup":"coordination.k8s.io","name":"one"},` +
				`"responseStatus":{"code":201},` + allowed + `}`,
			want: []Request{{Received: at, Verb: "patch", Group: "coordination.k8s.io", Resource: "leases", Name: "one", Created: true, Grant: "by role"}},
		},
		"begin and end of a watch": {
			log: `{"stage":"ResponseStarted","verb":"watch","objectRef":{"resource":"nodes"},"responseStatus":{"code":200},` + allowed + "}\n" +
				`{"stage":"ResponseComplete","verb":"watch","objectRef":{"resource":"nodes"},"responseStatus":{"code":200},` + allowed + `}`,
			want: []Request{{Received: at, Verb: "watch", Resource: "nodes", Grant: "by role"}},
		},
		"no resource": {
			log:  `{"stage":"ResponseComplete","verb":"get","requestURI":"/version?timeout=32s","responseStatus":{"code":200},` + allowed + `}`,
			want: []Request{{Received: at, Verb: "get", Resource: "/version", Grant: "by role"}},
		},
		"refused": {
			log: `{"stage":"ResponseComplete","verb":"watch","objectRef":{"resource":"nodes"},"responseStatus":{"status":"Failure",` +
				`"message":"nodes is forbidden: no role","reason":"Forbidden","code":403},"annotations":{"authorization.k8s.io/decision":"forbid",` +
				`"authorization.k8s.io/reason":""},` + when + `}`,
			want: []Request{{Received: at, Verb: "watch", Resource: "nodes", Refused: "nodes is forbidden: no role"}},
		},
		"in a namespace that ends": {
			log: `{"stage":"ResponseComplete","verb":"create","objectRef":{"resource":"events","namespace":"shop"},"responseStatus":{"status":"Failure",` +
				`"message":"forbidden","details":{"causes":[{"reason":"NamespaceTerminating"}]},"code":403},` + allowed + `}`,
			want: []Request{{Received: at, Verb: "create", Resource: "events", Namespace: "shop", Grant: "by role"}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			log := tc.log
			if log != "" {
				log += "\n"
			}
			got, err := readAudit(strings.NewReader(log + `{"stage":"Resp`)) // the last line is being written
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := readAudit(strings.NewReader("not JSON\n")); err == nil {
		t.Error("a line that is no event: no error")
	}
}
