// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targetgroup

import (
	"fmt"
	"testing"
	"time"
)

func TestSubnetsLearn(t *testing.T) {
	const vpc = "vpc-0123456789abcdef0"
	type word struct {
		address string
		outside bool
		after   time.Duration // the word before
	}
	tests := map[string]struct {
		words   []word
		outside []string
		inside  []string
	}{
		"nothing":         {nil, nil, []string{"10.0.0.1", "i-0123", ""}},
		"a neighbourhood": {[]word{{"10.0.0.1", true, 0}}, []string{"10.0.0.1", "10.0.0.2"}, []string{"10.0.1.1"}},
		"IPv6":            {[]word{{"2001:db8::1", true, 0}}, []string{"2001:db8::ffff:1"}, []string{"2001:db8:0:1::1", "10.0.0.1"}},
		"an exception":    {[]word{{"10.0.0.1", true, 0}, {"10.0.0.2", false, 0}}, []string{"10.0.0.1", "10.0.0.3"}, []string{"10.0.0.2"}},
		"the contrary, and of its neighbours": {
			[]word{{"10.0.0.1", true, 0}, {"10.0.0.2", true, 0}, {"10.0.0.1", false, 0}}, nil, []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"},
		},
		"the contrary again, at once": {
			[]word{{"10.0.0.1", true, 0}, {"10.0.0.1", false, 0}, {"10.0.0.1", true, turnPause - 1}}, nil, []string{"10.0.0.1"},
		},
		"the contrary again, later": {
			[]word{{"10.0.0.1", true, 0}, {"10.0.0.1", false, 0}, {"10.0.0.1", true, turnPause}}, []string{"10.0.0.1"}, nil,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, now := NewSubnets(), noon
			for _, w := range tc.words {
				now = now.Add(w.after)
				s.learn(vpc, w.address, w.outside, now)
			}
			for _, address := range tc.outside {
				if !s.exclude(vpc, address) || s.exclude("", address) {
					t.Errorf("%s is inside, or outside another VPC, too", address)
				}
			}
			for _, address := range tc.inside {
				if s.exclude(vpc, address) {
					t.Errorf("%s is outside", address)
				}
			}
		})
	}
}

func TestSubnetsAreBounded(t *testing.T) {
	s := NewSubnets()
	for i := range placesKept + 1 {
		s.learn("", fmt.Sprintf("10.%d.%d.1", i>>8, i&255), true, noon)
	}
	for i := range addressesKept + 1 {
		s.learn("", fmt.Sprintf("2001:db8::%x", i), true, noon)
	}
	if s.known.Len() > placesKept || s.exclude("", "10.0.0.1") || !s.exclude("", "10.0.3.1") {
		t.Errorf("%d places, want %d, without the oldest", s.known.Len(), placesKept)
	}
	if n := len(s.find("", "2001:db8::").exact); n > addressesKept || !s.exclude("", "2001:db8::1") {
		t.Errorf("%d addresses of a neighbourhood, want %d at most, and the others taken for its first", n, addressesKept)
	}
}
