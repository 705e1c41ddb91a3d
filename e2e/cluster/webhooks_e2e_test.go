// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func testWebhooks(t *testing.T, c *Cluster) {
	caPEM, url := serveDenial(t, "/validate-configmaps")
	if err := c.InstallWebhooks(t.Context(), filepath.Join("testdata", "webhooks.yaml"), url, caPEM); err != nil {
		t.Fatal(err)
	}
	api := clientFor(t, c.AdminConfig())
	await(t, "a denial", func() error {
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

// serveDenial serves a webhook that denies all it is asked at the path, with a certificate made as for a real one.
func serveDenial(t *testing.T, path string) (caPEM []byte, url string) {
	t.Helper()
	dir := t.TempDir()
	caPEM, err := ServingCertificate(dir, loopback)
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
	return caPEM, server.URL
}
