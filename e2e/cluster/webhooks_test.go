// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/base64"
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

func TestPointWebhooksChangesClientConfigOnly(t *testing.T) {
	path := writeManifest(t, webhookManifest)
	got, err := readManifests(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range got {
		if err := pointWebhooks(object, "https://127.0.0.1:9443/", []byte("PEM")); err != nil {
			t.Fatal(err)
		}
	}

	client := func(path string) string {
		return "clientConfig: {url: 'https://127.0.0.1:9443" + path + "', caBundle: " +
			base64.StdEncoding.EncodeToString([]byte("PEM")) + "}"
	}
	wantText := strings.NewReplacer(
		"clientConfig:\n    service: {name: webhook, namespace: system, path: /mutate-pods}", client("/mutate-pods"),
		"clientConfig:\n    service: {name: webhook, namespace: system, path: /validate-a}", client("/validate-a"),
		"clientConfig:\n    service: {name: webhook, namespace: system, path: /validate-b, port: 9443}", client("/validate-b"),
	).Replace(webhookManifest)
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
			err = pointWebhooks(objects[0], "https://127.0.0.1:1", nil)
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
