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
	"github.com/targetgate/targetgate/balancers/issue"
	"github.com/targetgate/targetgate/balancers/stack"
)

type noACM struct{}

func (noACM) Issued(context.Context) ([]string, error) { return nil, errors.New("no answer") }
func (noACM) Certificate(context.Context, string) (acm.Certificate, error) {
	return acm.Certificate{}, nil
}

// issuedACM has two certificates for a.example.com. One was issued for an Ingress of another cluster.
type issuedACM struct{}

func (issuedACM) Issued(context.Context) ([]string, error) { return []string{"plain", "others"}, nil }
func (issuedACM) Requested(context.Context) ([]string, error) {
	return []string{"plain", "others"}, nil
}
func (issuedACM) Certificate(_ context.Context, arn string) (acm.Certificate, error) {
	return acm.Certificate{ARN: arn, Domains: []string{"a.example.com"}, Status: "ISSUED"}, nil
}

func (issuedACM) Tags(_ context.Context, arn string) (map[string]string, error) {
	if arn == "plain" {
		return nil, nil
	}
	return map[string]string{stack.ClusterTag: "staging"}, nil
}
func (issuedACM) Request(context.Context, acm.Request) (string, error) {
	return "", errors.New("not here")
}
func (issuedACM) Delete(context.Context, string) error { return errors.New("not here") }

// A certificate that was issued for an Ingress is not discovered for others while there is an Issuer, as it goes with that Ingress.
func TestIssuedCertificatesAreNotDiscovered(t *testing.T) {
	for name, tc := range map[string]struct {
		issuer *issue.Issuer
		want   []string
	}{
		"issuing":     {issuer: &issue.Issuer{ACM: issuedACM{}, Clock: clock.RealClock{}, Cluster: "prod"}, want: []string{"plain"}},
		"not issuing": {want: []string{"others", "plain"}},
	} {
		t.Run(name, func(t *testing.T) {
			lookup := &Lookup{
				Network: &account.Network{}, Certificates: &account.Issued{ACM: issuedACM{}, Clock: clock.RealClock{}}, Issuer: tc.issuer,
			}
			facts, err := lookup.Lookup(t.Context(), stack.ID{}, input.Needs{Hosts: []string{"a.example.com"}})
			var got []string
			for _, c := range facts.Certificates {
				got = append(got, c.ARN)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil || facts.NoCertificates != "" {
				t.Errorf("error %v, not known: %q (-want +got):\n%s", err, facts.NoCertificates, diff)
			}
		})
	}
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
