// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package controlplane

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/targetgate/targetgate/e2e/cluster"
	"github.com/targetgate/targetgate/e2e/suite"
)

func testWebhooks(t *testing.T, c *cluster.Cluster) {
	caPEM, port := serveDenial(t, "/validate-configmaps", "webhook.kube-system.svc")
	api := clientFor(t, c.AdminConfig())
	for range 2 { // the second time leaves caBundle as it is
		if err := c.InstallWebhooks(t.Context(), filepath.Join("testdata", "webhooks.yaml"), port); err != nil {
			t.Fatal(err)
		}
		trust(t, api, caPEM)
		caPEM = nil
	}
	suite.Eventually(t, "a denial", func() error {
		_, err := api.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(t.Context(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "try-"}}, metav1.CreateOptions{})
		switch {
		case err == nil:
			return errors.New("the ConfigMap was created")
		case apierrors.IsForbidden(err):
			return nil
		default:
			return err
		}
	})
}

// trust sets the configuration's caBundle, if there is one to set.
func trust(t *testing.T, api kubernetes.Interface, caPEM []byte) {
	t.Helper()
	if caPEM == nil {
		return
	}
	patch, err := json.Marshal([]map[string]any{{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": caPEM}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = api.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(
		t.Context(), "configmaps", types.JSONPatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// serveDenial serves a webhook that denies all it is asked at the path, with a certificate for the host.
func serveDenial(t *testing.T, path, host string) (caPEM []byte, port int) {
	t.Helper()
	dir := t.TempDir()
	caPEM, err := cluster.ServingCertificate(dir, host)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		review := admissionv1.AdmissionReview{}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{
			UID: review.Request.UID, Allowed: false, Result: &metav1.Status{Code: http.StatusForbidden},
		}
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Errorf("answering the review: %v", err)
		}
	}))
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return caPEM, server.Listener.Addr().(*net.TCPAddr).Port
}
