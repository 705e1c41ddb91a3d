// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/targetgate/targetgate/aws/acm"
	"github.com/targetgate/targetgate/aws/route53"
	"github.com/targetgate/targetgate/balancers/stack"
)

// When something is done again: a record is made that ACM has not found yet, and a certificate is requested that ACM could not issue.
const (
	recordPause  = 10 * time.Minute
	failurePause = time.Minute // of a record that could not be made, and of a request that was refused
	requestPause = time.Hour   // of which ACM grants 2,500 a year
	zonesAge     = 5 * time.Minute
)

// Kept is what came of a Keep.
type Kept struct {
	// Failures are those of the wanted certificates, by the member that wants it.
	Failures map[string]error
	// Err is that of what nobody wants any more.
	Err error
	// InUse are those that nobody wants any more and that AWS says are in use, by their ARN.
	InUse map[string]error
}

// Keep requests the certificates that are wanted and not there, makes their records, and deletes all others of the stack that are not used.
func (i *Issuer) Keep(ctx context.Context, id stack.ID, wanted []stack.Certificate, used func(arn string) bool) Kept {
	out := Kept{Failures: map[string]error{}, InUse: map[string]error{}}
	own, err := i.Of(ctx, id)
	if err != nil {
		for _, w := range wanted {
			out.Failures[w.Member] = err
		}
		out.Err = err
		return out
	}
	kept := map[string]bool{}
	for _, w := range wanted {
		arn, err := i.keep(ctx, id, w, own)
		if kept[arn] = true; err != nil {
			out.Failures[w.Member] = err
		}
	}
	for _, c := range own {
		if !kept[c.ARN] && !used(c.ARN) {
			i.remove(ctx, c.ARN, &out)
		}
	}
	return out
}

// remove deletes a certificate that is not in use.
func (i *Issuer) remove(ctx context.Context, arn string, out *Kept) {
	err := i.ACM.Delete(ctx, arn)
	switch {
	case acm.IsInUse(err):
		out.InUse[arn] = err
		return
	case err != nil && !acm.IsNotFound(err):
		out.Err = errors.Join(out.Err, err)
		return
	}
	i.forget(arn)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.deleted++
}

// keep is the ARN of the certificate that is, or is to be, the wanted one.
func (i *Issuer) keep(ctx context.Context, id stack.ID, wanted stack.Certificate, own []acm.Certificate) (arn string, err error) {
	own = slices.DeleteFunc(slices.Clone(own), func(c acm.Certificate) bool { return !wanted.Is(c.Domains, c.CA) })
	if at := slices.IndexFunc(own, isIssued); at >= 0 {
		return own[at].ARN, nil
	}
	if at := slices.IndexFunc(own, isPending); at >= 0 {
		return own[at].ARN, i.record(ctx, own[at])
	}
	for _, failed := range own {
		if i.Clock.Since(failed.Requested) < requestPause {
			return failed.ARN, nil
		}
	}
	return i.request(ctx, id, wanted)
}

// request requests a certificate.
func (i *Issuer) request(ctx context.Context, id stack.ID, wanted stack.Certificate) (string, error) {
	token, err := i.token(id, wanted)
	if err != nil {
		return "", err
	}
	arn, err := i.ACM.Request(ctx, acm.Request{Domains: wanted.Domains, CA: wanted.CA, Tags: wanted.Tags, Token: token})
	if err != nil {
		i.refuse(token, err)
		return "", err
	}
	now := i.Clock.Now()
	i.note(arn, func(k *known) {
		*k = known{owner: id, marked: true, made: now, certificate: acm.Certificate{
			ARN: arn, Domains: wanted.Domains, CA: wanted.CA, Requested: now,
		}}
	})
	return arn, nil
}

// token is what the request of a certificate is known by, or why it was refused a short time ago.
func (i *Issuer) token(id stack.ID, wanted stack.Certificate) (string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	sum := sha256.Sum256(fmt.Append(nil, id, wanted.Member, wanted.Domains, wanted.CA, i.deleted))
	token := hex.EncodeToString(sum[:16])
	maps.DeleteFunc(i.refused, func(_ string, r refusal) bool { return i.Clock.Since(r.at) >= failurePause })
	return token, i.refused[token].err
}

// refuse takes in that a request was refused.
func (i *Issuer) refuse(token string, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.refused == nil {
		i.refused = map[string]refusal{}
	}
	i.refused[token] = refusal{err, i.Clock.Now()}
}

// record makes the records by which ACM knows whose the domains are, in the nearest public hosted zone: ACM looks nowhere else.
func (i *Issuer) record(ctx context.Context, c acm.Certificate) error {
	k := i.all()[c.ARN]
	pause := recordPause
	if k.unrecorded != nil {
		pause = failurePause
	}
	if len(c.Records) == 0 || i.Clock.Since(k.recorded) < pause {
		return k.unrecorded
	}
	err := i.createRecords(ctx, c)
	i.note(c.ARN, func(k *known) { k.recorded, k.unrecorded = i.Clock.Now(), err })
	return err
}

func (i *Issuer) createRecords(ctx context.Context, c acm.Certificate) (errs error) {
	zones, err := i.hostedZones(ctx)
	if err != nil {
		return err
	}
	for _, record := range c.Records {
		zone, ok := route53.ZoneOf(zones, record.Name)
		if !ok {
			errs = errors.Join(errs, fmt.Errorf("the account has no public hosted zone for the record %s CNAME %s: make it where the domain is",
				strings.TrimSuffix(record.Name, "."), record.Value))
			continue
		}
		errs = errors.Join(errs, i.DNS.Create(ctx, zone, record.Name, record.Value))
	}
	return errs
}

func (i *Issuer) hostedZones(ctx context.Context) ([]route53.Zone, error) {
	i.mu.Lock()
	zones, at := i.zones, i.zonesAt
	i.mu.Unlock()
	if !at.IsZero() && i.Clock.Since(at) < zonesAge {
		return zones, nil
	}
	zones, err := i.DNS.Zones(ctx)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.zones, i.zonesAt = zones, i.Clock.Now()
	return zones, nil
}

// Waiting says why a certificate is not issued yet, "" when it is.
func Waiting(c acm.Certificate) string {
	switch {
	case isIssued(c):
		return ""
	case isPending(c) && len(c.Records) > 0:
		var records []string
		for _, r := range c.Records {
			records = append(records, strings.TrimSuffix(r.Name, ".")+" CNAME "+strings.TrimSuffix(r.Value, "."))
		}
		return "ACM looks for the DNS records " + strings.Join(records, ", ")
	case isPending(c):
		return "ACM works on it"
	}
	reason := c.Status
	if c.Failure != "" {
		reason += ", " + c.Failure
	}
	return fmt.Sprintf("ACM could not issue %s (%s): it is requested again %s", c.ARN, reason,
		c.Requested.Add(requestPause).UTC().Format("at 15:04 UTC"))
}
