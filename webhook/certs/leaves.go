// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/tls"
	"crypto/x509"
	"sync"
	"time"
)

// maxLeaves limits the certificates held while CAs are replaced faster than they settle.
const maxLeaves = 32

// leaf is a serving certificate and its state.
type leaf struct {
	certificate  *tls.Certificate
	ca           *x509.Certificate // that signed it; nil until it has been seen
	trustedSince time.Time         // zero while any caBundle does not verify it
}

// leaves holds the certificates that are served or may be next, oldest first. Handshakes read them while the pass changes them.
type leaves struct {
	settle time.Duration

	mu      sync.Mutex
	list    []*leaf
	serving *leaf // one of the list, nil at first
}

// current returns the certificate to serve, nil at first.
func (l *leaves) current() *tls.Certificate {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.serving == nil {
		return nil
	}
	return l.serving.certificate
}

// offer adds the newest certificate. If there is no room, it replaces the last one, which has had the least time to settle.
func (l *leaves) offer(newest *tls.Certificate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.list) - 1
	if newest == nil || last >= 0 && l.list[last].certificate == newest {
		return
	}
	l.list = append(l.list[:min(last+1, maxLeaves-1)], &leaf{certificate: newest})
}

// recognise assigns the known CAs to the certificates that they signed, and returns these CAs.
func (l *leaves) recognise(authorities []*x509.Certificate) []*x509.Certificate {
	l.mu.Lock()
	defer l.mu.Unlock()
	var signers []*x509.Certificate
	for _, leaf := range l.list {
		for _, ca := range authorities {
			if leaf.ca == nil && leaf.certificate.Leaf.CheckSignatureFrom(ca) == nil {
				leaf.ca = ca
			}
		}
		if leaf.ca != nil {
			signers = append(signers, leaf.ca)
		}
	}
	return signers
}

// choose decides which certificate to serve, and forgets older ones. trusted reports whether every caBundle verifies a
// certificate.
func (l *leaves) choose(now time.Time, trusted func(*x509.Certificate) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	best, bestRank := -1, -1
	for i, leaf := range l.list {
		switch {
		case !trusted(leaf.certificate.Leaf):
			leaf.trustedSince = time.Time{}
		case leaf.trustedSince.IsZero():
			leaf.trustedSince = now
		}
		if rank := l.rank(leaf, now); rank >= bestRank {
			best, bestRank = i, rank
		}
	}
	if best >= 0 {
		l.serving, l.list = l.list[best], l.list[best:]
	}
}

// rank orders certificates by preference: a trusted one that has settled, then the one served now, even if it is not trusted at
// the moment, then any trusted one. Among equals, the newest is preferred.
func (l *leaves) rank(leaf *leaf, now time.Time) int {
	trusted := !leaf.trustedSince.IsZero()
	switch {
	case now.After(leaf.certificate.Leaf.NotAfter):
		return 0
	case trusted && now.Sub(leaf.trustedSince) >= l.settle:
		return 4
	case leaf == l.serving:
		return 3
	case trusted:
		return 2
	default:
		return 1
	}
}
