// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"slices"
	"time"
)

const (
	// commonName is the subject of our CAs.
	commonName = "targetgate-webhook-ca"
	// maxAuthorities limits the CAs in a bundle. With one rotation a year there are two; the limit matters only if there is more
	// than one rotation within the settling time.
	maxAuthorities = 16

	certificateBlock = "CERTIFICATE"
)

// ours reports whether the certificate is a CA that targetgate made and that can verify what it signs.
func ours(ca *x509.Certificate) bool {
	shortLived := ca.NotAfter.Sub(ca.NotBefore) <= MaxCADuration+time.Minute
	return ca.Subject.CommonName == commonName && shortLived && ca.CheckSignatureFrom(ca) == nil
}

// parseBundle returns our CAs in a caBundle. clean is true if it contains nothing else.
func parseBundle(bundle []byte) (authorities []*x509.Certificate, clean bool) {
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		ca, err := x509.ParseCertificate(block.Bytes)
		if err == nil && ours(ca) && !slices.ContainsFunc(authorities, ca.Equal) {
			authorities = append(authorities, ca)
		}
	}
	return authorities, bytes.Equal(encodeBundle(authorities), bundle)
}

func encodeBundle(authorities []*x509.Certificate) []byte {
	var out []byte
	for _, ca := range authorities {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: ca.Raw})...)
	}
	return out
}

// wantedAuthorities returns the CAs that every caBundle should contain: the current one, from the Secret, then known ones that
// may still be needed, the newest first, up to the limit. Replicas with the same input return the same.
//
// A CA that is not the current one is needed for the overlap after it or the current one was made, whichever is later: that is
// how long a replica may still serve a certificate of the previous CA, or may not have seen the new one in the Secret. So no
// CA that is not in the Secret stays, whoever made it.
func wantedAuthorities(current *x509.Certificate, known []*x509.Certificate, now time.Time, overlap time.Duration) []*x509.Certificate {
	known = slices.DeleteFunc(slices.Clone(known), func(ca *x509.Certificate) bool {
		return now.After(ca.NotAfter) || current != nil && (ca.Equal(current) || superseded(ca, current, now, overlap))
	})
	slices.SortFunc(known, func(a, b *x509.Certificate) int {
		if order := b.NotBefore.Compare(a.NotBefore); order != 0 {
			return order
		}
		return bytes.Compare(a.Raw, b.Raw)
	})
	if current != nil {
		known = slices.Insert(known, 0, current)
	}
	known = slices.CompactFunc(known, (*x509.Certificate).Equal)
	return known[:min(len(known), maxAuthorities)]
}

func superseded(ca, current *x509.Certificate, now time.Time, overlap time.Duration) bool {
	since := current.NotBefore
	if ca.NotBefore.After(since) {
		since = ca.NotBefore
	}
	return now.Sub(since).Abs() > overlap
}

// upToDate reports whether a caBundle contains all wanted CAs, and only CAs that may stay.
func upToDate(bundle []byte, wanted, mayStay []*x509.Certificate) bool {
	authorities, clean := parseBundle(bundle)
	if !clean || len(authorities) > maxAuthorities {
		return false
	}
	for _, ca := range wanted {
		if !slices.ContainsFunc(authorities, ca.Equal) {
			return false
		}
	}
	for _, ca := range authorities {
		if !slices.ContainsFunc(mayStay, ca.Equal) {
			return false
		}
	}
	return true
}

// verify returns nil if an API server with this caBundle accepts the certificate for the host.
func verify(certificate *x509.Certificate, bundle []byte, host string, now time.Time) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return errors.New("it contains no certificate")
	}
	_, err := certificate.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, CurrentTime: now})
	return err
}
