// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/targetgate/targetgate/aws/acm"
)

// authority is ACM in memory.
type authority struct {
	certificates map[string]acm.Certificate
	described    int
}

func (a *authority) Issued(context.Context) (arns []string, err error) {
	for arn := range a.certificates {
		arns = append(arns, arn)
	}
	return arns, nil
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
