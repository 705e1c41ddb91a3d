// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const webhookManifest = `# A comment, and an empty document.
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: pods
webhooks:
- name: pods.example.com
  admissionReviewVersions: [v1]
  clientConfig:
    service: {name: webhook, namespace: system, path: /mutate-pods}
  failurePolicy: Ignore
  namespaceSelector:
    matchLabels: {inject: enabled}
  sideEffects: None
  timeoutSeconds: 3
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: bindings
webhooks:
- name: a.example.com
  clientConfig:
    service: {name: webhook, namespace: system, path: /validate-a}
- name: b.example.com
  clientConfig:
    service: {name: webhook, namespace: system, path: /validate-b, port: 9443}
`

func TestPointWebhooksChangesPortOnly(t *testing.T) {
	got, err := readManifests(writeManifest(t, webhookManifest))
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range got {
		keys, err := pointWebhooks(object, 31234)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			if key != (serviceKey{"system", "webhook"}) {
				t.Errorf("service %v, want system/webhook", key)
			}
		}
	}
	wantText := strings.NewReplacer(", port: 9443}", ", port: 31234}", "path: /mutate-pods}", "path: /mutate-pods, port: 31234}",
		"path: /validate-a}", "path: /validate-a, port: 31234}").Replace(webhookManifest)
	want, err := readManifests(writeManifest(t, wantText))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
}

func TestPointWebhooksRefusesWhatItCannotPoint(t *testing.T) {
	cases := map[string]struct {
		manifest string
		wantErr  string
	}{
		"another kind": {
			manifest: "apiVersion: v1\nkind: ConfigMap\n",
			wantErr:  "not a webhook configuration",
		},
		"no webhooks": {
			manifest: "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\n",
			wantErr:  "no webhooks",
		},
		"no service": {
			manifest: "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\n" +
				"webhooks: [{name: a.example.com, clientConfig: {url: 'https://example.com'}}]\n",
			wantErr: "a.example.com names no service",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects, err := readManifests(writeManifest(t, tc.manifest))
			if err != nil {
				t.Fatal(err)
			}
			_, err = pointWebhooks(objects[0], 1)
			if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("pointWebhooks() = %v, want %q in it", err, tc.wantErr)
			}
		})
	}
}

func writeManifest(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "manifests.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
