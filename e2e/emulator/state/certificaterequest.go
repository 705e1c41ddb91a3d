// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// ValidationDNS is the way to validate a certificate's domains by records.
const ValidationDNS = "DNS"

// The limits of requests of a new account.
const (
	mostDomains    = 10
	longestDomain  = 253
	longestSubject = 64 // of the main domain
	tokenLife      = time.Hour
)

// CertificateRequest asks ACM for a certificate.
type CertificateRequest struct {
	// Domains are its names, the main one first; a repetition counts once.
	Domains []string
	// Key is KeyRSA2048 when empty, Validation EMAIL.
	Key, Validation string
	// CA is the ARN of a private CA, which needs no validation.
	CA string
	// Token has the same request within an hour answer the same certificate.
	Token string
	Tags  map[string]string
}

var (
	domainName = regexp.MustCompile(`^(\*\.)?([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)
	tokenForm  = regexp.MustCompile(`^\w{0,32}$`)
)

// RequestCertificate makes a certificate that waits for its validation, which SetCertificateStatus ends. Its records are shown after a
// while (Delays.Certificate). That of a private CA is issued then.
func (m *Machine) RequestCertificate(account string, r CertificateRequest) (Certificate, error) {
	now := m.enter()
	defer m.leave()
	r.Key = cmp.Or(r.Key, KeyRSA2048)
	r.Domains = distinct(r.Domains)
	if err := r.validate(); err != nil {
		return Certificate{}, err
	}
	if same := m.requested(account, r, now); same != nil {
		return *same, nil
	}
	kind := CertificateAmazon
	if r.CA != "" {
		kind = CertificatePrivate
	}
	c, err := m.addCertificate(account, CertificateSpec{
		Domains: r.Domains, Status: CertificatePending, Type: kind, Key: r.Key, CA: r.CA, Validation: cmp.Or(r.Validation, "EMAIL"),
	}, now)
	if err != nil {
		return Certificate{}, err
	}
	c.token = r.Token
	m.putTags(c.ARN, r.Tags, now)
	m.later(now.Add(m.draw(m.opts.Delays.Certificate)), func(time.Time) {
		c.recorded = true
		if r.CA != "" && m.acm.find(c.ARN) == c {
			m.setStatus(c, CertificateIssued)
		}
	})
	return *c, nil
}

// distinct drops repetitions of domains, in whatever case.
func distinct(domains []string) []string {
	var kept []string
	for _, domain := range domains {
		if domain = strings.ToLower(domain); !slices.Contains(kept, domain) {
			kept = append(kept, domain)
		}
	}
	return kept
}

func (r CertificateRequest) validate() error {
	for n, domain := range r.Domains {
		if !domainName.MatchString(domain) || len(domain) > longestDomain || n == 0 && len(domain) > longestSubject {
			return Refuse("ValidationException", "The domain name '%s' is not valid", domain)
		}
	}
	switch {
	case len(r.Domains) > mostDomains:
		return Refuse("LimitExceededException", "A certificate can have at most %d domain names", mostDomains)
	case r.Key != KeyRSA2048 && r.Key != KeyP256:
		return Refuse("ValidationException", "The key algorithm '%s' is not emulated", r.Key)
	case !tokenForm.MatchString(r.Token):
		return Refuse("ValidationException", "The idempotency token '%s' is not valid", r.Token)
	}
	return checkCertificateTags(r.Tags)
}

func checkCertificateTags(tags map[string]string) error {
	if err := CheckTags(tags); err != nil {
		return Refuse("InvalidTagException", "%v", err)
	}
	if len(tags) > mostTags {
		return Refuse("TooManyTagsException", "A certificate can have at most %d tags", mostTags)
	}
	return nil
}

// requested finds the certificate of the same request, if its token still counts.
func (m *Machine) requested(account string, r CertificateRequest, now time.Time) *Certificate {
	since := now.Add(-m.Scaled(tokenLife))
	i := slices.IndexFunc(m.acm.certificates, func(c *Certificate) bool {
		return r.Token != "" && c.token == r.Token && c.Account == m.account(account) &&
			c.Created.After(since) && slices.Equal(c.Domains, r.Domains)
	})
	if i < 0 {
		return nil
	}
	return m.acm.certificates[i]
}

// ValidationRecord is the CNAME record that shows who owns a domain.
type ValidationRecord struct {
	Name, Value string
}

// Record is the record for a domain of a certificate; false is none, or none yet. A domain and the wildcard below it have the same one.
func (c Certificate) Record(domain string) (ValidationRecord, bool) {
	if !c.recorded || c.Validation != ValidationDNS || c.CA != "" {
		return ValidationRecord{}, false
	}
	base := strings.TrimPrefix(domain, "*.")
	sum := sha256.Sum256([]byte(c.Account + " " + base))
	token := hex.EncodeToString(sum[:])
	return ValidationRecord{"_" + token[:32] + "." + base + ".", "_" + token[32:] + ".acm-validations.aws."}, true
}

// ValidateCertificate has a certificate be issued after a while: its records were found.
func (m *Machine) ValidateCertificate(arn string) {
	now := m.enter()
	defer m.leave()
	c := m.acm.find(arn)
	if c == nil || c.Status != CertificatePending || c.validated {
		return
	}
	c.validated = true
	m.later(now.Add(m.draw(m.opts.Delays.Certificate)), func(time.Time) {
		if m.acm.find(arn) == c {
			m.setStatus(c, CertificateIssued)
		}
	})
}

// DiscardCertificate is DeleteCertificate for one that no listener has.
func (m *Machine) DiscardCertificate(arn string) error {
	if len(m.CertificateUsers(arn)) > 0 {
		return Refuse("ResourceInUseException", "Certificate %s is in use.", arn)
	}
	return m.DeleteCertificate(arn)
}

// CertificateUsers are the load balancers whose listeners have a certificate.
func (m *Machine) CertificateUsers(arn string) []string {
	m.enter()
	defer m.leave()
	var found []string
	for _, l := range m.listeners {
		if slices.Contains(l.Certificates, arn) && !slices.Contains(found, l.LoadBalancer) {
			found = append(found, l.LoadBalancer)
		}
	}
	return found
}

// TagCertificate sets tags of a certificate.
func (m *Machine) TagCertificate(arn string, tags map[string]string) error {
	now := m.enter()
	defer m.leave()
	present, ok := m.tags.latest(arn)
	if !ok {
		return noCertificate(arn)
	}
	all := maps.Clone(present)
	maps.Copy(all, tags)
	if err := checkCertificateTags(all); err != nil {
		return err
	}
	m.putTags(arn, all, now)
	return nil
}
