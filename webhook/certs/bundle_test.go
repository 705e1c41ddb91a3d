// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/x509"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseBundleKeepsWhatIsOurs(t *testing.T) {
	one, two, foreign := newCA(t, commonName, time.Hour), newCA(t, commonName, 2*time.Hour), newCA(t, "evil", 0)
	impostor := newCA(t, commonName, 0) // of our name, but signed by somebody else
	impostor.Certificate = create(t, impostor.Certificate, foreign.Certificate, impostor.key, foreign.key)
	tests := map[string]struct {
		bundle    []byte
		want      []time.Duration
		wantClean bool
	}{
		"empty":         {wantClean: true},
		"ours":          {bundle: bundleOf(one, two), want: []time.Duration{time.Hour, 2 * time.Hour}, wantClean: true},
		"twice":         {bundle: bundleOf(one, one), want: []time.Duration{time.Hour}},
		"foreign":       {bundle: bundleOf(foreign, one), want: []time.Duration{time.Hour}},
		"impostor":      {bundle: bundleOf(one, impostor), want: []time.Duration{time.Hour}},
		"text":          {bundle: append([]byte("# a comment\n"), bundleOf(one)...), want: []time.Duration{time.Hour}},
		"text only":     {bundle: []byte("Cg==")},
		"cut off":       {bundle: bundleOf(one, two)[:len(bundleOf(one))+100], want: []time.Duration{time.Hour}},
		"bad signature": {bundle: damaged(one)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, clean := parseBundle(tc.bundle)
			if diff := cmp.Diff(tc.want, ages(got)); diff != "" || clean != tc.wantClean {
				t.Errorf("clean %v, want %v; ages (-want +got):\n%s", clean, tc.wantClean, diff)
			}
		})
	}
}

// damaged is the CA with another signature, in a bundle.
func damaged(ca *signer) []byte {
	raw := slices.Clone(ca.Raw)
	raw[len(raw)-1] ^= 1
	return encodeBundle([]*x509.Certificate{{Raw: raw}})
}

func TestWantedAuthorities(t *testing.T) {
	current, young, old := newCA(t, commonName, 3*time.Hour), newCA(t, commonName, time.Hour), newCA(t, commonName, 5*time.Hour)
	var many []*x509.Certificate
	for i := range maxAuthorities + 3 {
		many = append(many, newCA(t, commonName, time.Duration(i)*time.Minute).Certificate)
	}
	tests := map[string]struct {
		current *signer
		known   []*x509.Certificate
		now     time.Time
		want    []time.Duration
	}{
		"nothing known": {now: now},
		"the current one first, then the newest": {
			current: current, known: []*x509.Certificate{old.Certificate, young.Certificate, current.Certificate, young.Certificate}, now: now,
			want: []time.Duration{3 * time.Hour, time.Hour, 5 * time.Hour},
		},
		"long superseded": {
			current: old, known: []*x509.Certificate{newCA(t, commonName, 300*24*time.Hour).Certificate}, now: now,
			want: []time.Duration{5 * time.Hour},
		},
		"newer, but never in the Secret": {
			current: newCA(t, commonName, 300*24*time.Hour), known: []*x509.Certificate{old.Certificate, newCA(t, commonName, -5*time.Hour).Certificate}, now: now,
			want: []time.Duration{300 * 24 * time.Hour},
		},
		"no current one": {known: []*x509.Certificate{old.Certificate, young.Certificate}, now: now, want: []time.Duration{time.Hour, 5 * time.Hour}},
		"expired":        {known: []*x509.Certificate{old.Certificate}, now: old.NotAfter.Add(time.Second)},
		"too many":       {current: old, known: many, now: now, want: append([]time.Duration{5 * time.Hour}, ages(many[:maxAuthorities-1])...)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var first *x509.Certificate
			if tc.current != nil {
				first = tc.current.Certificate
			}
			if diff := cmp.Diff(tc.want, ages(wantedAuthorities(first, tc.known, tc.now, 4*time.Hour))); diff != "" {
				t.Errorf("ages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBundleIsUpToDate(t *testing.T) {
	one, two, foreign := newCA(t, commonName, time.Hour), newCA(t, commonName, 2*time.Hour), newCA(t, "evil", 0)
	three := newCA(t, commonName, 3*time.Hour)
	wanted := []*x509.Certificate{one.Certificate}
	var many []*signer
	for range maxAuthorities {
		many = append(many, newCA(t, commonName, 0))
	}
	tests := map[string]struct {
		bundle []byte
		want   bool
	}{
		"empty":             {},
		"exact":             {bundle: bundleOf(one), want: true},
		"another one":       {bundle: bundleOf(two)},
		"what may stay":     {bundle: bundleOf(two, one), want: true},
		"what may not stay": {bundle: bundleOf(three, one)},
		"something foreign": {bundle: bundleOf(one, foreign)},
		"too many":          {bundle: append(bundleOf(many...), bundleOf(one)...)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := upToDate(tc.bundle, wanted, append(wanted, two.Certificate)); got != tc.want {
				t.Errorf("upToDate() = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestVerifyJudgesAsAnAPIServer(t *testing.T) {
	ca, other := newCA(t, commonName, time.Hour), newCA(t, commonName, time.Hour)
	certificate := ca.sign(t, testHost).Leaf
	tests := map[string]struct {
		bundle  []byte
		host    string
		now     time.Time
		wantErr string
	}{
		"trusted":         {bundle: bundleOf(other, ca), host: testHost, now: now},
		"no bundle":       {host: testHost, now: now, wantErr: "contains no certificate"},
		"of another CA":   {bundle: bundleOf(other), host: testHost, now: now, wantErr: "signed by unknown authority"},
		"of another host": {bundle: bundleOf(ca), host: "elsewhere.svc", now: now, wantErr: "not elsewhere.svc"},
		"expired":         {bundle: bundleOf(ca), host: testHost, now: certificate.NotAfter.Add(time.Second), wantErr: "expired"},
		"not valid yet":   {bundle: bundleOf(ca), host: testHost, now: certificate.NotBefore.Add(-time.Second), wantErr: "not yet valid"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := verify(certificate, tc.bundle, tc.host, tc.now)
			if (err == nil) != (tc.wantErr == "") || err != nil && !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("verify() = %v, want %q in it", err, tc.wantErr)
			}
		})
	}
}
