// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"testing"
	"time"
)

// now of the tests. Certificates have no fractions of seconds.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const week = 7 * 24 * time.Hour

const testHost = "targetgate-webhook.targetgate-system.svc"

// signer is a CA with its key.
type signer struct {
	*x509.Certificate
	key *ecdsa.PrivateKey
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// newCA is a CA of that name with a year to go, made so long ago.
func newCA(t *testing.T, name string, age time.Duration) *signer {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-age), NotAfter: now.Add(365 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	return &signer{create(t, template, template, key, key), key}
}

func create(t *testing.T, template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

// sign makes a certificate for the host, from now on for a week, for servers and clients.
func (s *signer) sign(t *testing.T, host string) *tls.Certificate {
	t.Helper()
	return s.signFrom(t, host, now)
}

func (s *signer) signFrom(t *testing.T, host string, from time.Time) *tls.Certificate {
	t.Helper()
	key := newKey(t)
	leaf := create(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host}, NotBefore: from, NotAfter: from.Add(week),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, s.Certificate, key, s.key)
	return &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}
}

func bundleOf(authorities ...*signer) []byte {
	var out []*x509.Certificate
	for _, a := range authorities {
		out = append(out, a.Certificate)
	}
	return encodeBundle(out)
}

// ages tell authorities apart in the output of tests.
func ages(authorities []*x509.Certificate) []time.Duration {
	var out []time.Duration
	for _, ca := range authorities {
		out = append(out, now.Sub(ca.NotBefore))
	}
	return out
}

func writeFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil { // at once: who watches reads no half a file
		t.Fatal(err)
	}
}

func keyPEM(t *testing.T, certificate *tls.Certificate) []byte {
	t.Helper()
	raw, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}
