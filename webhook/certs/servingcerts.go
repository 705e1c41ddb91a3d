// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/tls"
	"crypto/x509"
	"sync"
	"time"
)

// maxServingCerts limits the certificates held while CAs are replaced faster than they settle.
const maxServingCerts = 32

// servingCert is a serving certificate and its state.
type servingCert struct {
	certificate  *tls.Certificate
	ca           *x509.Certificate // that signed it; nil until it has been seen
	trustedSince time.Time         // zero while any caBundle does not verify it
}

// servingCerts holds the certificates that are served or may be next, oldest first. Handshakes read them while the pass changes them.
type servingCerts struct {
	settle time.Duration

	mu      sync.Mutex
	list    []*servingCert
	serving *servingCert // one of the list, nil at first
}

// current returns the certificate to serve, nil at first.
func (s *servingCerts) current() *tls.Certificate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.serving == nil {
		return nil
	}
	return s.serving.certificate
}

// offer adds the newest certificate. If there is no room, it replaces the last one, which has had the least time to settle.
func (s *servingCerts) offer(newest *tls.Certificate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.list) - 1
	if newest == nil || last >= 0 && s.list[last].certificate == newest {
		return
	}
	s.list = append(s.list[:min(last+1, maxServingCerts-1)], &servingCert{certificate: newest})
}

// recognise assigns the known CAs to the certificates that they signed, and returns these CAs.
func (s *servingCerts) recognise(authorities []*x509.Certificate) []*x509.Certificate {
	s.mu.Lock()
	defer s.mu.Unlock()
	var signers []*x509.Certificate
	for _, cert := range s.list {
		for _, ca := range authorities {
			if cert.ca == nil && cert.certificate.Leaf.CheckSignatureFrom(ca) == nil {
				cert.ca = ca
			}
		}
		if cert.ca != nil {
			signers = append(signers, cert.ca)
		}
	}
	return signers
}

// choose decides which certificate to serve, and forgets older ones. trusted reports whether every caBundle verifies a
// certificate.
func (s *servingCerts) choose(now time.Time, trusted func(*x509.Certificate) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	best, bestRank := -1, -1
	for i, cert := range s.list {
		switch {
		case !trusted(cert.certificate.Leaf):
			cert.trustedSince = time.Time{}
		case cert.trustedSince.IsZero():
			cert.trustedSince = now
		}
		if rank := s.rank(cert, now); rank >= bestRank {
			best, bestRank = i, rank
		}
	}
	if best >= 0 {
		s.serving, s.list = s.list[best], s.list[best:]
	}
}

// rank orders certificates by preference: a trusted one that has settled, then the one served now, even if it is not trusted at
// the moment, then any trusted one. Among equals, the newest is preferred.
func (s *servingCerts) rank(cert *servingCert, now time.Time) int {
	trusted := !cert.trustedSince.IsZero()
	switch {
	case now.After(cert.certificate.Leaf.NotAfter):
		return 0
	case trusted && now.Sub(cert.trustedSince) >= s.settle:
		return 4
	case cert == s.serving:
		return 3
	case trusted:
		return 2
	default:
		return 1
	}
}
