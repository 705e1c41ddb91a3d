// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/acm"
)

// Issued has the issued certificates of the account. It is safe for concurrent use.
type Issued struct {
	ACM   Certificates
	Clock clock.PassiveClock

	flights singleflight.Group
	mu      sync.Mutex // guards what follows; held for no call
	listed  time.Time
	all     []described
	failure error     // of the last read, or that it takes long
	failed  time.Time // when that was
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

// While ACM fails it is asked once in failedAge, and waited for no longer than patience, in which it describes some 300 certificates:
// groups that need none are to have the workers.
const (
	patience  = 30 * time.Second
	failedAge = time.Minute
)

var errSlow = errors.New("ACM takes long to list and describe certificates")

// Certificates are those that are issued, by ARN. One that was issued 10 seconds ago is among them. The caller may change the list, not
// the domains.
func (i *Issued) Certificates(ctx context.Context) ([]acm.Certificate, error) {
	if known, isYoung, failure := i.known(); isYoung {
		return plain(known), failure
	}
	read := i.flights.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepTimeout)
		defer cancel()
		err := i.read(ctx)
		i.note(err)
		return nil, err
	})
	slow := time.NewTimer(patience)
	defer slow.Stop()
	select {
	case result := <-read:
		known, _, _ := i.known()
		return plain(known), result.Err
	case <-slow.C:
		i.note(errSlow)
		return nil, errSlow
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// known is what is known, with the failure of a read if that is younger.
func (i *Issued) known() (all []described, isYoung bool, failure error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.failure != nil && i.Clock.Since(i.failed) < failedAge {
		return nil, true, i.failure
	}
	return i.all, !i.listed.IsZero() && i.Clock.Since(i.listed) < listAge, nil
}

// note takes in how a read has ended.
func (i *Issued) note(failure error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.failure, i.failed = failure, i.Clock.Now()
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
			i.keep(append(all, before...), time.Time{})
			return err
		default:
			all = append(all, described{certificate, now})
		}
	}
	i.keep(all, now)
	return nil
}

func (i *Issued) before() []described {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.all
}

func (i *Issued) keep(all []described, listed time.Time) {
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
	i.all, i.listed = all, listed
}
