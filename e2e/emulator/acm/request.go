// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package acm

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
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

// Request asks for a certificate that has to be validated.
type Request struct {
	// Domains are its names, the main one first; a repetition counts once.
	Domains []string
	// Key is RSA2048 when empty, Validation EMAIL.
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

// Request makes a certificate that waits for its validation, which Validate or SetStatus ends. Its records are shown after a while. That
// of a private CA is issued then.
func (a *ACM) Request(account string, r Request) (Certificate, error) {
	r.Key = cmp.Or(r.Key, RSA2048)
	r.Domains = distinct(r.Domains)
	if err := r.validate(); err != nil {
		return Certificate{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if same := a.requested(account, r); same != nil {
		return *same, nil
	}
	kind := Amazon
	if r.CA != "" {
		kind = Private
	}
	c, err := a.add(account, Spec{
		Domains: r.Domains, Status: Pending, Type: kind, Key: r.Key, CA: r.CA, Validation: cmp.Or(r.Validation, "EMAIL"),
	})
	if err != nil {
		return Certificate{}, err
	}
	c.token, c.Tags = r.Token, maps.Clone(r.Tags)
	c.records = c.Created.Add(a.region.Draw(a.delay))
	if r.CA != "" {
		c.issue = c.records
	}
	c.advance(c.Created)
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

func (r Request) validate() error {
	for n, domain := range r.Domains {
		if !domainName.MatchString(domain) || len(domain) > longestDomain || n == 0 && len(domain) > longestSubject {
			return refusal.New("ValidationException", "The domain name '%s' is not valid", domain)
		}
	}
	switch {
	case len(r.Domains) > mostDomains:
		return refusal.New("LimitExceededException", "A certificate can have at most %d domain names", mostDomains)
	case r.Key != RSA2048 && r.Key != P256:
		return refusal.New("ValidationException", "The key algorithm '%s' is not emulated", r.Key)
	case !tokenForm.MatchString(r.Token):
		return refusal.New("ValidationException", "The idempotency token '%s' is not valid", r.Token)
	}
	return checkTags(r.Tags)
}

// requested finds the certificate of the same request, if its token still counts.
func (a *ACM) requested(account string, r Request) *Certificate {
	since := a.region.Now().Add(-a.region.Scaled(tokenLife))
	i := slices.IndexFunc(a.certificates, func(c *Certificate) bool {
		return r.Token != "" && c.token == r.Token && c.Account == a.region.Account(account) &&
			c.Created.After(since) && slices.Equal(c.Domains, r.Domains)
	})
	if i < 0 {
		return nil
	}
	return a.find(a.certificates[i].ARN)
}

// Record is the CNAME record that shows who owns a domain.
type Record struct {
	Name, Value string
}

// Record is the record for a domain of a certificate; false is none, or none yet. A domain and the wildcard below it have the same one.
func (c Certificate) Record(domain string) (Record, bool) {
	if !c.recorded || c.Validation != ValidationDNS || c.CA != "" {
		return Record{}, false
	}
	base := strings.TrimPrefix(domain, "*.")
	sum := sha256.Sum256([]byte(c.Account + " " + base))
	token := hex.EncodeToString(sum[:])
	return Record{"_" + token[:32] + "." + base + ".", "_" + token[32:] + ".acm-validations.aws."}, true
}

// Validate issues a certificate after a while: its records were found. It does nothing for one that is not pending.
func (a *ACM) Validate(arn string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.find(arn); c != nil && c.Status == Pending && c.issue.IsZero() {
		c.issue = a.region.Now().Add(a.region.Draw(a.delay))
	}
}
