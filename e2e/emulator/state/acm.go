// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"slices"
	"time"
)

// States and types of certificates, and algorithms of their keys, of those that ACM has.
const (
	CertificateIssued  = "ISSUED"
	CertificatePending = "PENDING_VALIDATION"

	CertificateAmazon   = "AMAZON_ISSUED"
	CertificateImported = "IMPORTED"
	CertificatePrivate  = "PRIVATE"

	KeyRSA2048 = "RSA_2048"
	KeyP256    = "EC_prime256v1"
)

// CertificateSpec asks for a certificate of ACM.
type CertificateSpec struct {
	// Domains are its names, the main one first.
	Domains []string
	// Status is CertificateIssued when empty, Type CertificateAmazon, Key KeyP256.
	Status, Type, Key string
	// CA is the ARN of the private CA, if any.
	CA string
	// Validation is how the owner of its domains is found out, DNS or EMAIL; "" is not at all.
	Validation string
	// Pair is the certificate and its key, for the Domains and of the Key's kind; a self-signed one when empty.
	Pair tls.Certificate
}

// Certificate is a certificate of ACM.
type Certificate struct {
	CertificateSpec
	ARN, Account string
	Created      time.Time

	token     string // of the request
	recorded  bool   // its validation records are shown
	validated bool   // they were found
}

// acm is what ACM holds, in order of creation.
type acm struct{ certificates []*Certificate }

func (a *acm) find(arn string) *Certificate {
	i := slices.IndexFunc(a.certificates, func(c *Certificate) bool { return c.ARN == arn })
	if i < 0 {
		return nil
	}
	return a.certificates[i]
}

// AddCertificate makes a certificate for an account ("" is the default one). Listeners can have it as long as it is issued.
func (m *Machine) AddCertificate(account string, spec CertificateSpec) (Certificate, error) {
	now := m.enter()
	defer m.leave()
	c, err := m.addCertificate(account, spec, now)
	if err != nil {
		return Certificate{}, err
	}
	return *c, nil
}

func (m *Machine) addCertificate(account string, spec CertificateSpec, now time.Time) (*Certificate, error) {
	if len(spec.Domains) == 0 {
		return nil, Refuse("ValidationException", "A certificate needs a domain name")
	}
	spec.Domains = slices.Clone(spec.Domains)
	spec.Status, spec.Type = cmp.Or(spec.Status, CertificateIssued), cmp.Or(spec.Type, CertificateAmazon)
	spec.Key = cmp.Or(spec.Key, KeyP256)
	if len(spec.Pair.Certificate) == 0 {
		pair, err := selfSigned(spec.Domains, spec.Key, now)
		if err != nil {
			return nil, fmt.Errorf("making a certificate for %v: %w", spec.Domains, err)
		}
		spec.Pair = pair
	}
	account = m.account(account)
	c := &Certificate{CertificateSpec: spec, Account: account, Created: now,
		ARN: "arn:aws:acm:" + m.opts.Region + ":" + account + ":certificate/" + m.uuid()}
	m.acm.certificates = append(m.acm.certificates, c)
	m.putTags(c.ARN, nil, now)
	m.setStatus(c, c.Status)
	return c, nil
}

// selfSigned makes a certificate that a client may trust as its own root.
func selfSigned(domains []string, algorithm string, now time.Time) (tls.Certificate, error) {
	key, err := newKey(algorithm)
	if err != nil {
		return tls.Certificate{}, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: domains[0]}, DNSNames: domains,
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf, err := x509.ParseCertificate(der)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
}

func newKey(algorithm string) (crypto.Signer, error) {
	switch algorithm {
	case KeyRSA2048:
		return rsa.GenerateKey(rand.Reader, 2048)
	case KeyP256:
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	return nil, fmt.Errorf("key algorithm %q is not one of %s and %s", algorithm, KeyRSA2048, KeyP256)
}

// SetCertificateStatus changes what DescribeCertificate says of a certificate, as when its validation is over.
func (m *Machine) SetCertificateStatus(arn, status string) error {
	m.enter()
	defer m.leave()
	c := m.acm.find(arn)
	if c == nil {
		return noCertificate(arn)
	}
	m.setStatus(c, status)
	return nil
}

func (m *Machine) setStatus(c *Certificate, status string) {
	c.Status = status
	m.certificates[c.ARN] = status == CertificateIssued
}

// DeleteCertificate removes a certificate, in use or not.
func (m *Machine) DeleteCertificate(arn string) error {
	m.enter()
	defer m.leave()
	c := m.acm.find(arn)
	if c == nil {
		return noCertificate(arn)
	}
	m.dropCertificate(c)
	return nil
}

func (m *Machine) dropCertificate(c *Certificate) {
	delete(m.certificates, c.ARN)
	m.dropTags(c.ARN)
	m.acm.certificates = slices.DeleteFunc(m.acm.certificates, func(other *Certificate) bool { return other == c })
}

// Certificate is the one with that ARN.
func (m *Machine) Certificate(arn string) (Certificate, error) {
	m.enter()
	defer m.leave()
	if c := m.acm.find(arn); c != nil {
		return *c, nil
	}
	return Certificate{}, noCertificate(arn)
}

// Certificates are those of an account ("" is the default one), in order of creation.
func (m *Machine) Certificates(account string) []Certificate {
	m.enter()
	defer m.leave()
	var found []Certificate
	for _, c := range m.acm.certificates {
		if c.Account == m.account(account) {
			found = append(found, *c)
		}
	}
	return found
}

func noCertificate(arn string) error {
	return Refuse("ResourceNotFoundException", "Could not find certificate %s.", arn)
}
