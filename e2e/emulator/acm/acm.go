// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package acm

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/tag"
)

// States and types of certificates, and algorithms of their keys.
const (
	Issued  = "ISSUED"
	Pending = "PENDING_VALIDATION"

	Amazon   = "AMAZON_ISSUED"
	Imported = "IMPORTED"
	Private  = "PRIVATE"

	RSA2048 = "RSA_2048"
	P256    = "EC_prime256v1"
)

// Spec asks for a certificate.
type Spec struct {
	// Domains are its names, the main one first.
	Domains []string
	// Status is Issued when empty, Type Amazon, Key P256.
	Status, Type, Key string
	// CA is the ARN of the private CA, if any.
	CA string
	// Validation is how the owner of its domains is found out, DNS or EMAIL; "" is not at all.
	Validation string
	// Pair is the certificate and its key, for the Domains and of the Key's kind; a self-signed one when empty.
	Pair tls.Certificate
}

// Certificate is a certificate as it is at a time. Its maps and slices must not be written to.
type Certificate struct {
	Spec
	ARN, Account string
	Created      time.Time
	Tags         map[string]string

	token    string    // of the request
	recorded bool      // its validation records are shown
	records  time.Time // when they are; zero is never
	issue    time.Time // when it is issued; zero is not by itself
}

// ACM holds the certificates of a region. Safe for concurrent use. No other lock is taken while its own is held but that of the region.
type ACM struct {
	region *region.Region
	delay  region.Range

	mu           sync.Mutex
	certificates []*Certificate // in order of creation
}

// New makes an ACM without certificates. The delay is from the request of a certificate to the moment that its validation records are
// shown, or that a private CA has issued it, and from Validate to its issue.
func New(in *region.Region, delay region.Range) *ACM { return &ACM{region: in, delay: delay} }

// find is the certificate as it is now, nil if there is none. The lock is held.
func (a *ACM) find(arn string) *Certificate {
	i := slices.IndexFunc(a.certificates, func(c *Certificate) bool { return c.ARN == arn })
	if i < 0 {
		return nil
	}
	a.certificates[i].advance(a.region.Now())
	return a.certificates[i]
}

// advance has what is due by now have happened.
func (c *Certificate) advance(now time.Time) {
	due := func(at time.Time) bool { return !at.IsZero() && !now.Before(at) }
	c.recorded = c.recorded || due(c.records)
	if due(c.issue) {
		c.Status, c.issue = Issued, time.Time{}
	}
}

// Add makes a certificate for an account ("" is the default one). Listeners can have it as long as it is issued.
func (a *ACM) Add(account string, spec Spec) (Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c, err := a.add(account, spec)
	if err != nil {
		return Certificate{}, err
	}
	return *c, nil
}

func (a *ACM) add(account string, spec Spec) (*Certificate, error) {
	if len(spec.Domains) == 0 {
		return nil, refusal.New("ValidationException", "A certificate needs a domain name")
	}
	now := a.region.Now()
	spec.Domains = slices.Clone(spec.Domains)
	spec.Status, spec.Type, spec.Key = cmp.Or(spec.Status, Issued), cmp.Or(spec.Type, Amazon), cmp.Or(spec.Key, P256)
	if len(spec.Pair.Certificate) == 0 {
		pair, err := selfSigned(spec.Domains, spec.Key, now)
		if err != nil {
			return nil, fmt.Errorf("making a certificate for %v: %w", spec.Domains, err)
		}
		spec.Pair = pair
	}
	c := &Certificate{
		Spec: spec, Account: a.region.Account(account), Created: now, ARN: a.region.ARN("acm", account, "certificate/"+a.region.UUID()),
	}
	a.certificates = append(a.certificates, c)
	return c, nil
}

// SetStatus changes what is said of a certificate, as when its validation is over.
func (a *ACM) SetStatus(arn, status string) error {
	return a.change(arn, func(c *Certificate) error {
		c.Status, c.issue = status, time.Time{}
		return nil
	})
}

// Tag sets tags of a certificate.
func (a *ACM) Tag(arn string, tags map[string]string) error {
	return a.change(arn, func(c *Certificate) error {
		all := map[string]string{}
		maps.Copy(all, c.Tags)
		maps.Copy(all, tags)
		if err := checkTags(all); err != nil {
			return err
		}
		c.Tags = all
		return nil
	})
}

func checkTags(tags map[string]string) error {
	if err := tag.Check(tags); err != nil {
		return refusal.New("InvalidTagException", "%v", err)
	}
	if len(tags) > tag.Most {
		return refusal.New("TooManyTagsException", "A certificate can have at most %d tags", tag.Most)
	}
	return nil
}

func (a *ACM) change(arn string, change func(*Certificate) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.find(arn)
	if c == nil {
		return notFound(arn)
	}
	return change(c)
}

// Delete removes a certificate, in use or not.
func (a *ACM) Delete(arn string) error {
	return a.change(arn, func(c *Certificate) error {
		a.certificates = slices.DeleteFunc(a.certificates, func(other *Certificate) bool { return other == c })
		return nil
	})
}

// Certificate is the one with that ARN.
func (a *ACM) Certificate(arn string) (Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.find(arn); c != nil {
		return *c, nil
	}
	return Certificate{}, notFound(arn)
}

// Issued reports whether there is a certificate that listeners can have.
func (a *ACM) Issued(arn string) bool {
	c, err := a.Certificate(arn)
	return err == nil && c.Status == Issued
}

// Certificates are those of an account ("" is the default one), in order of creation.
func (a *ACM) Certificates(account string) []Certificate {
	a.mu.Lock()
	defer a.mu.Unlock()
	var found []Certificate
	for _, c := range a.certificates {
		if c.Account == a.region.Account(account) {
			c.advance(a.region.Now())
			found = append(found, *c)
		}
	}
	return found
}

func notFound(arn string) error {
	return refusal.New("ResourceNotFoundException", "Could not find certificate %s.", arn)
}
