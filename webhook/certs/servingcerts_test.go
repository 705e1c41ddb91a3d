// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"testing"
	"time"
)

func TestServingCertsServe(t *testing.T) {
	ca := newCA(t, commonName, 0)
	certificates := map[string]*tls.Certificate{
		"one": ca.sign(t, testHost), "two": ca.sign(t, testHost), "three": ca.sign(t, testHost), "late": ca.signFrom(t, testHost, now.Add(week)),
	}
	type step struct {
		after   time.Duration // since the beginning
		offer   string
		trusted []string
		want    string
	}
	tests := map[string][]step{
		"what there is, when nothing is trusted": {{offer: "one", want: "one"}, {offer: "two", want: "one"}},
		"a trusted one at once, when nothing trusted is served": {
			{offer: "one", trusted: []string{"one"}, want: "one"},
		},
		"a new one after it has settled": {
			{offer: "one", trusted: []string{"one"}, want: "one"},
			{after: time.Minute, offer: "two", trusted: []string{"one", "two"}, want: "one"},
			{after: time.Minute + 9*time.Second, trusted: []string{"one", "two"}, want: "one"},
			{after: time.Minute + 10*time.Second, trusted: []string{"one", "two"}, want: "two"},
		},
		"a new one settles anew when trust was lost": {
			{offer: "one", trusted: []string{"one"}, want: "one"},
			{after: time.Minute, offer: "two", trusted: []string{"one", "two"}, want: "one"},
			{after: time.Minute + 9*time.Second, trusted: []string{"one"}, want: "one"},
			{after: time.Minute + 10*time.Second, trusted: []string{"one", "two"}, want: "one"},
			{after: time.Minute + 19*time.Second, trusted: []string{"one", "two"}, want: "one"},
			{after: time.Minute + 20*time.Second, trusted: []string{"one", "two"}, want: "two"},
		},
		"the newest of those that have settled": {
			{offer: "one", trusted: []string{"one"}, want: "one"},
			{after: 10 * time.Second, offer: "two", trusted: []string{"one", "two"}, want: "one"},
			{after: 19 * time.Second, offer: "three", trusted: []string{"one", "two", "three"}, want: "one"},
			{after: 20 * time.Second, trusted: []string{"one", "two", "three"}, want: "two"},
			{after: 29 * time.Second, trusted: []string{"one", "two", "three"}, want: "three"},
		},
		"the same while caBundle is damaged": {
			{offer: "one", trusted: []string{"one"}, want: "one"},
			{after: time.Minute, offer: "two", want: "one"},
			{after: 2 * time.Minute, trusted: []string{"one", "two"}, want: "one"},
		},
		"any other at once, when the one that is served has expired": {
			{offer: "one", trusted: []string{"one"}, want: "one"},
			{after: week + time.Second, offer: "late", trusted: []string{"late"}, want: "late"},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			s := &servingCerts{settle: 10 * time.Second}
			for i, step := range steps {
				s.offer(certificates[step.offer])
				s.choose(now.Add(step.after), func(c *x509.Certificate) bool {
					return slices.ContainsFunc(step.trusted, func(name string) bool { return certificates[name].Leaf == c })
				})
				if s.current() != certificates[step.want] {
					t.Fatalf("step %d does not serve certificate %q", i, step.want)
				}
			}
		})
	}
}

// CAs may be replaced faster than they settle. What is served then stays.
func TestServingCertsAreBounded(t *testing.T) {
	ca := newCA(t, commonName, 0)
	s := &servingCerts{settle: time.Hour}
	first := ca.sign(t, testHost)
	trusted := func(*x509.Certificate) bool { return true }
	last := first
	for range maxServingCerts + 1 {
		s.offer(last)
		s.choose(now, trusted)
		last = ca.sign(t, testHost)
	}
	s.offer(last)
	s.choose(now, trusted)
	if n := len(s.list); n != maxServingCerts || s.list[n-1].certificate != last || s.current() != first {
		t.Fatalf("%d are held, the last one the newest: %v, the first one served: %v", n, s.list[n-1].certificate == last, s.current() == first)
	}
}
