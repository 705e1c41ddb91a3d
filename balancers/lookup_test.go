// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"errors"
	"testing"

	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/acm"
	"github.com/targetgate/targetgate/balancers/account"
	"github.com/targetgate/targetgate/balancers/ingress"
)

type noACM struct{}

func (noACM) Issued(context.Context) ([]string, error) { return nil, errors.New("no answer") }
func (noACM) Certificate(context.Context, string) (acm.Certificate, error) {
	return acm.Certificate{}, nil
}

func TestWithoutACMOtherFactsAreFound(t *testing.T) {
	lookup := &Lookup{Network: &account.Network{}, Certificates: &account.Issued{ACM: noACM{}, Clock: clock.RealClock{}}}
	if facts, err := lookup.Lookup(t.Context(), ingress.Needs{}); err != nil || facts.NoCertificates != "" {
		t.Errorf("without need of certificates: %+v, error %v", facts, err)
	}
	if facts, err := lookup.Lookup(t.Context(), ingress.Needs{Hosts: []string{"a.example.com"}}); err != nil || facts.NoCertificates != "no answer" {
		t.Errorf("%+v, error %v", facts, err)
	}
}
