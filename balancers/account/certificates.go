// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/acm"
)

// Issued has the issued certificates of the account. It is safe for concurrent use.
type Issued struct {
	ACM   Certificates
	Clock clock.PassiveClock

	refresh Refresh
	mu      sync.Mutex // guards all; held for no call
	all     []described
}

// described is a certificate, and when it was described.
type described struct {
	acm.Certificate
	at time.Time
}

// How old what is known of certificates may be: which there are, and their domains. Another certificate can be imported under the ARN of
// an imported one; others keep their domains.
const (
	listAge     = 10 * time.Second
	importedAge = 5 * time.Minute
	issuedAge   = 10 * time.Hour
)

// Certificates are those that are issued, by ARN. One that was issued 10 seconds ago is among them. The caller may change the list, not
// the domains.
func (i *Issued) Certificates(ctx context.Context) ([]acm.Certificate, error) {
	if err := i.refresh.Do(ctx, i.Clock, listAge, sweepTimeout, i.read); err != nil {
		return nil, err
	}
	return plain(i.before()), nil
}

func plain(all []described) (out []acm.Certificate) {
	for _, d := range all {
		out = append(out, d.Certificate)
	}
	return out
}

// isOld reports whether the certificate may have other domains by now.
func (d described) isOld(now time.Time) bool {
	if d.Imported {
		return now.Sub(d.at) >= importedAge
	}
	return now.Sub(d.at) >= issuedAge
}

// read lists the certificates, and describes those of which nothing is known, or something too old. What was described stays known when a
// later call fails.
func (i *Issued) read(ctx context.Context) error {
	now := i.Clock.Now()
	arns, err := i.ACM.Issued(ctx)
	if err != nil {
		return err
	}
	slices.Sort(arns)
	before := i.before()
	var all []described
	for _, arn := range arns {
		at := slices.IndexFunc(before, func(d described) bool { return d.ARN == arn })
		if at >= 0 && !before[at].isOld(now) {
			all = append(all, before[at])
			continue
		}
		certificate, err := i.ACM.Certificate(ctx, arn)
		switch {
		case acm.IsNotFound(err):
		case err != nil:
			i.keep(append(all, before...))
			return err
		default:
			all = append(all, described{certificate, now})
		}
	}
	i.keep(all)
	return nil
}

func (i *Issued) before() []described {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.all
}

func (i *Issued) keep(all []described) {
	i.mu.Lock()
	defer i.mu.Unlock()
	slices.SortStableFunc(all, func(a, b described) int { return b.at.Compare(a.at) }) // of two, the younger one
	known := map[string]bool{}
	all = slices.DeleteFunc(all, func(d described) bool {
		twice := known[d.ARN]
		known[d.ARN] = true
		return twice
	})
	slices.SortFunc(all, func(a, b described) int { return strings.Compare(a.ARN, b.ARN) })
	i.all = all
}
