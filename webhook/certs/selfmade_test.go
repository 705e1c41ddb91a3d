// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/tls"
	"errors"
	"testing"
	"time"

	cmtls "github.com/cert-manager/cert-manager/pkg/server/tls"
)

func TestSelfMadeServesTheChosenCertificate(t *testing.T) {
	s := NewSelfMade(testOptions)
	if _, err := s.GetCertificate(nil); !errors.Is(err, cmtls.ErrNotAvailable) {
		t.Errorf("before there is a certificate: %v, want %v", err, cmtls.ErrNotAvailable)
	}
	want := newCA(t, commonName, 0).sign(t, testHost)
	s.reconciler.servingCerts.serving = &servingCert{certificate: want}
	if got, err := s.GetCertificate(nil); got != want || err != nil {
		t.Errorf("GetCertificate() = %v, %v; want what was chosen", got, err)
	}
}

// A certificate has a third of its life when it is renewed. What takes its place has to settle within that.
func TestSettlingFitsIntoARenewal(t *testing.T) {
	tests := map[string]struct {
		certDuration, want time.Duration
	}{
		"a week":       {certDuration: week, want: maxSettle},
		"the shortest": {certDuration: MinCertDuration, want: 2 * time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			options := testOptions
			options.CertDuration = tc.certDuration
			if got := options.settle(); got != tc.want {
				t.Errorf("settle() = %s, want %s", got, tc.want)
			}
		})
	}
}

func TestSelfMadeLooksOftenUntilItServes(t *testing.T) {
	s := NewSelfMade(testOptions)
	if got := s.interval(); got != startInterval {
		t.Errorf("interval() = %s at the start, want %s", got, startInterval)
	}
	s.reconciler.servingCerts.serving = &servingCert{certificate: &tls.Certificate{}}
	if got, want := s.interval(), 10*time.Second; got != want {
		t.Errorf("interval() = %s, want %s", got, want)
	}
}
