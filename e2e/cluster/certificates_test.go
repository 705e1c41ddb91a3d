// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAuthorityIssuesClientCertificate(t *testing.T) {
	ca := mustAuthority(t)
	pair, err := ca.client("alice", "dev", "ops")
	if err != nil {
		t.Fatal(err)
	}
	leaf := parsePair(t, pair)

	if _, err := leaf.Verify(x509.VerifyOptions{
		Roots: pool(t, ca.pem), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		t.Errorf("verifying as a client certificate: %v", err)
	}
	if leaf.Subject.CommonName != "alice" {
		t.Errorf("user = %q, want alice", leaf.Subject.CommonName)
	}
	if diff := cmp.Diff([]string{"dev", "ops"}, leaf.Subject.Organization); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

func TestAuthorityIssuesServingCertificate(t *testing.T) {
	ca := mustAuthority(t)
	pair, err := ca.server("127.0.0.1", "localhost")
	if err != nil {
		t.Fatal(err)
	}
	leaf := parsePair(t, pair)

	cases := map[string]struct {
		host    string
		usage   x509.ExtKeyUsage
		roots   *x509.CertPool
		wantErr bool
	}{
		"by address":           {host: "127.0.0.1", usage: x509.ExtKeyUsageServerAuth, roots: pool(t, ca.pem)},
		"by name":              {host: "localhost", usage: x509.ExtKeyUsageServerAuth, roots: pool(t, ca.pem)},
		"for another host":     {host: "127.0.0.2", usage: x509.ExtKeyUsageServerAuth, roots: pool(t, ca.pem), wantErr: true},
		"as a client":          {host: "localhost", usage: x509.ExtKeyUsageClientAuth, roots: pool(t, ca.pem), wantErr: true},
		"by another authority": {host: "localhost", usage: x509.ExtKeyUsageServerAuth, roots: pool(t, mustAuthority(t).pem), wantErr: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := leaf.Verify(x509.VerifyOptions{
				DNSName: tc.host, Roots: tc.roots, KeyUsages: []x509.ExtKeyUsage{tc.usage},
			})
			if (err != nil) != tc.wantErr {
				t.Errorf("Verify() = %v, want an error: %v", err, tc.wantErr)
			}
		})
	}
}

func TestAuthorityRefusesNamelessCertificates(t *testing.T) {
	ca := mustAuthority(t)
	if _, err := ca.client(""); err == nil {
		t.Error("client certificate without a user: no error")
	}
	if _, err := ca.server(); err == nil {
		t.Error("serving certificate without a host: no error")
	}
}

func TestServingCertificateIsRotatedByASecondCall(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tls")
	first, err := ServingCertificate(dir, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	verifyServing(t, dir, first)

	second, err := ServingCertificate(dir, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	verifyServing(t, dir, second)
	if cmp.Equal(first, second) {
		t.Error("both calls returned the same authority")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 {
		t.Errorf("folder holds %v, want tls.crt and tls.key only", entries)
	}
}

func verifyServing(t *testing.T, dir string, ca []byte) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		t.Fatalf("loading the serving certificate: %v", err)
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: "127.0.0.1", Roots: pool(t, ca)}); err != nil {
		t.Errorf("verifying the serving certificate: %v", err)
	}
}

func mustAuthority(t *testing.T) *authority {
	t.Helper()
	ca, err := newAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// parsePair also proves that certificate and key belong together.
func parsePair(t *testing.T, pair keyPair) *x509.Certificate {
	t.Helper()
	parsed, err := tls.X509KeyPair(pair.certificate, pair.key)
	if err != nil {
		t.Fatalf("parsing the pair: %v", err)
	}
	return parsed.Leaf
}

func pool(t *testing.T, ca []byte) *x509.CertPool {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		t.Fatal("no certificate in the authority's PEM")
	}
	return roots
}
