// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/targetgate/targetgate/aws/acm"
)

// authority is ACM in memory.
type authority struct {
	certificates map[string]acm.Certificate
	described    int
	listed       int
	err          error
	slow         time.Duration // to list
}

func (a *authority) Issued(context.Context) (arns []string, err error) {
	a.listed++
	time.Sleep(a.slow)
	for arn := range a.certificates {
		arns = append(arns, arn)
	}
	return arns, a.err
}

func (a *authority) Certificate(_ context.Context, arn string) (acm.Certificate, error) {
	a.described++
	return a.certificates[arn], nil
}

func TestCertificatesAreDescribedOnceAndFoundSoon(t *testing.T) {
	a := &authority{certificates: map[string]acm.Certificate{"a": {ARN: "a"}, "b": {ARN: "b", Imported: true}}}
	clock := clocktesting.NewFakePassiveClock(time.Now())
	issued := &Issued{ACM: a, Clock: clock}
	for _, step := range []struct {
		name            string
		after           time.Duration
		issue           string
		want, described int
	}{
		{name: "at first", want: 2, described: 2},
		{name: "at once again", issue: "c", want: 2, described: 2},
		{name: "one that was issued, within a minute", after: time.Minute, want: 3, described: 3},
		{name: "an imported one is described again", after: importedAge, want: 3, described: 4},
		{name: "all are described again", after: issuedAge, want: 3, described: 7},
	} {
		clock.SetTime(clock.Now().Add(step.after))
		if step.issue != "" {
			a.certificates[step.issue] = acm.Certificate{ARN: step.issue}
		}
		got, err := issued.Certificates(t.Context())
		if err != nil || len(got) != step.want || a.described != step.described {
			t.Errorf("%s: error %v, %d certificates, %d described, want %d and %d", step.name, err, len(got), a.described, step.want, step.described)
		}
	}
}

// All groups share the workers: those that need no certificates must not wait behind those that do.
func TestWhileACMFailsFewWaitForIt(t *testing.T) {
	for name, tc := range map[string]struct {
		authority authority
		want      error
		takes     time.Duration
	}{
		"it refuses":       {authority{err: errOfACM}, errOfACM, 0},
		"it is slow":       {authority{slow: patience + time.Second}, errSlow, patience},
		"it never answers": {authority{slow: time.Hour}, errSlow, patience},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &tc.authority
				issued := &Issued{ACM: a, Clock: clock.RealClock{}}
				began := time.Now()
				for range 10 {
					if _, err := issued.Certificates(t.Context()); !errors.Is(err, tc.want) {
						t.Errorf("error %v, want %v", err, tc.want)
					}
				}
				took := time.Since(began)
				synctest.Wait() // for the authority, which this reads and changes
				if took != tc.takes || a.listed != 1 {
					t.Errorf("ten questions take %v and %d calls, want %v and 1", took, a.listed, tc.takes)
				}
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				a.err, a.slow = nil, 0
				if _, err := issued.Certificates(t.Context()); err != nil {
					t.Errorf("error %v after the outage", err)
				}
			})
		})
	}
}

var errOfACM = errors.New("denied")
