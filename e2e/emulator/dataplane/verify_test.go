// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// clientCertificate is signed by itself, and holds until then.
func clientCertificate(t *testing.T, until time.Time) (tls.Certificate, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	spec := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: until.Add(-24 * time.Hour), NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, spec, spec, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, leaf
}

// A listener that verifies lets in clients whose certificate the trust store vouches for, expired ones only if it ignores that.
func TestVerifiedClients(t *testing.T) {
	for name, tc := range map[string]struct {
		until                   time.Duration
		known, ignoreExpiry, in bool
	}{
		"known":                    {time.Hour, true, false, true},
		"unknown":                  {time.Hour, false, false, false},
		"unknown, expiry ignored":  {-time.Hour, false, true, false},
		"expired":                  {-time.Hour, true, false, false},
		"expired, and that is all": {-time.Hour, true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, state.Application, Options{})
			pair, leaf := clientCertificate(t, time.Now().Add(tc.until))
			listener, get := b.tlsListener(pair)
			b.eventually("an answer", func() bool { _, _, err := get("/"); return err == nil })
			pool := x509.NewCertPool()
			if tc.known {
				pool.AddCert(leaf)
			}
			mutual := state.MutualAuth{Mode: state.MutualVerify, TrustStore: b.machine.AddTrustStore("s", pool).ARN, IgnoreExpiry: tc.ignoreExpiry}
			if _, err := b.machine.ModifyListener(listener.ARN, state.ListenerSpec{MutualAuth: mutual}); err != nil {
				t.Fatal(err)
			}
			if _, _, err := get("/"); (err == nil) != tc.in {
				t.Errorf("error %v, let in should be %t", err, tc.in)
			}
		})
	}
}
