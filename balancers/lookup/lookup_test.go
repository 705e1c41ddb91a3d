// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/acm"
	"github.com/targetgate/targetgate/aws/wafclassic"
	"github.com/targetgate/targetgate/balancers/account"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/stack"
)

type noACM struct{}

func (noACM) Issued(context.Context) ([]string, error) { return nil, errors.New("no answer") }
func (noACM) Certificate(context.Context, string) (acm.Certificate, error) {
	return acm.Certificate{}, nil
}

// classic answers each question for a web ACL of AWS WAF Classic by that.
type classic struct {
	found string
	err   error
}

func (c classic) WebACL(context.Context, string) (string, error) { return c.found, c.err }
func (c classic) Named(context.Context, string) (string, error)  { return c.found, c.err }

// That a Region has no AWS WAF Classic is told apart from no answer.
func TestClassicWebACLsAreLookedUp(t *testing.T) {
	for name, tc := range map[string]struct {
		classic classic
		want    input.AWS
	}{
		"it is there":    {classic{found: "id"}, input.AWS{ClassicACLs: map[string]input.Named{"id": {ARN: "id"}}}},
		"it is not":      {classic{}, input.AWS{ClassicACLs: map[string]input.Named{"id": {}}}},
		"no answer":      {classic{err: errors.New("no")}, input.AWS{ClassicACLs: map[string]input.Named{"id": {Reason: "no"}}}},
		"not the Region": {classic{err: wafclassic.ErrNoService}, input.AWS{NoClassicACLs: "this Region has no AWS WAF Classic"}},
	} {
		t.Run(name, func(t *testing.T) {
			lookup := &Lookup{Network: &account.Network{WAFClassic: tc.classic, Clock: clock.RealClock{}}}
			got, err := lookup.Lookup(t.Context(), stack.ID{}, input.Needs{ClassicACLs: []string{"id"}})
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestWithoutACMOtherFactsAreFound(t *testing.T) {
	lookup := &Lookup{Network: &account.Network{}, Certificates: &account.Issued{ACM: noACM{}, Clock: clock.RealClock{}}}
	if facts, err := lookup.Lookup(t.Context(), stack.ID{}, input.Needs{}); err != nil || facts.NoCertificates != "" {
		t.Errorf("without need of certificates: %+v, error %v", facts, err)
	}
	if facts, err := lookup.Lookup(t.Context(), stack.ID{}, input.Needs{Hosts: []string{"a.example.com"}}); err != nil || facts.NoCertificates != "no answer" {
		t.Errorf("%+v, error %v", facts, err)
	}
}
