// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/targetgate/targetgate/balancers/stack"
)

// secured is a stack with a listener for each list of certificates, the default one first.
func secured(lists ...[]string) stack.Stack {
	m := genMember{Name: "ns/m", Type: "ip"}
	for i := range lists {
		m.Rules = append(m.Rules, genRule{Port: int32(80 + i), Path: "/a", To: []genTarget{{0, 1}}})
	}
	s := genStack{Members: []genMember{m}}.want()
	for i, list := range lists {
		l := &s.LoadBalancers[0].Listeners[i]
		l.Protocol, l.SSLPolicy, l.Certificates = "HTTPS", "policy", list
	}
	return s
}

func certificatesOf(w *world) (lists [][]string) {
	for _, l := range w.LoadBalancers[0].Listeners {
		lists = append(lists, append([]string{l.Certificates[0] + "!"}, slices.Sorted(slices.Values(l.SNI()))...))
	}
	return lists
}

// The default certificate is in the list for SNI, too, where the quota has room, and makes room while others are exchanged. Only where it is
// not there, what is not wanted goes first.
func TestCertificatesAtTheQuota(t *testing.T) {
	type lists = [][]string
	for name, test := range map[string]struct {
		from, to lists
		want     lists
		steps    []string
	}{
		"one is exchanged": {
			lists{{"a", "b", "c"}}, lists{{"a", "b", "d"}}, lists{{"a!", "a", "b", "d"}},
			[]string{
				"remove certificate a from listener 80", "add certificate d to listener 80",
				"remove certificate c from listener 80", "add certificate a to listener 80",
			},
		},
		"all are": {
			lists{{"a", "b", "c"}}, lists{{"a", "d", "e"}}, lists{{"a!", "a", "d", "e"}}, []string{
				"remove certificate a from listener 80", "add certificate d to listener 80",
				"remove certificate b from listener 80", "add certificate e to listener 80",
				"remove certificate c from listener 80", "add certificate a to listener 80",
			},
		},
		"one is added": {
			lists{{"a", "b", "c"}}, lists{{"a", "b", "c", "d"}}, lists{{"a!", "b", "c", "d"}},
			[]string{"remove certificate a from listener 80", "add certificate d to listener 80"},
		},
		"it was full": {
			lists{{"a", "b", "c", "d"}}, lists{{"a", "b", "c", "e"}}, lists{{"a!", "b", "c", "e"}},
			[]string{"remove certificate d from listener 80", "add certificate e to listener 80"},
		},
		"another is the default one": {
			lists{{"a", "b", "c", "d"}}, lists{{"b", "a", "c", "d"}}, lists{{"b!", "a", "c", "d"}},
			[]string{"change listener 80: HTTPS, by default answer 404", "remove certificate b from listener 80", "add certificate a to listener 80"},
		},
		"one goes": {
			lists{{"a", "b", "c", "d"}}, lists{{"a", "b", "c"}}, lists{{"a!", "a", "b", "c"}},
			[]string{"remove certificate d from listener 80", "add certificate a to listener 80"},
		},
		"one goes to another listener": {
			lists{{"a", "b"}, {"c"}}, lists{{"a"}, {"c", "b"}}, lists{{"a!", "a"}, {"c!", "b", "c"}},
			[]string{
				"remove certificate a from listener 80", "add certificate b to listener 81",
				"remove certificate b from listener 80", "add certificate a to listener 80",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, options := newWorld(), Options{Certificates: 3}
			w.certificates = 3
			first, _ := Make(secured(test.from...), w.seen(), options)
			if err := w.run(first, nothing); err != nil {
				t.Fatal(err)
			}
			planned, _ := Make(secured(test.to...), w.seen(), options)
			if diff := cmp.Diff(test.steps, texts(planned)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if err := w.run(planned, nothing); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, certificatesOf(w)); diff != "" {
				t.Errorf("certificates (-want +got):\n%s", diff)
			}
			if again, _ := Make(secured(test.to...), w.seen(), options); len(again) > 0 {
				t.Errorf("then %q", texts(again))
			}
		})
	}
}

// Whatever members exchange, and wherever a pass ends: the next one needs no more than the quota, and has all that is wanted.
func TestCertificatesAreExchangedWithinTheQuota(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		quota := 1 + r.IntN(8)
		random := func() (lists [][]string) {
			left := quota
			for range 1 + r.IntN(3) {
				n := r.IntN(left + 1)
				left -= n
				var list []string
				for _, c := range r.Perm(12)[:n+1] {
					list = append(list, fmt.Sprint("c", c))
				}
				lists = append(lists, list)
			}
			return lists
		}
		w, options := newWorld(), Options{Certificates: quota}
		w.certificates = quota
		for range 3 {
			to := random()
			planned, _ := Make(secured(to...), w.seen(), options)
			if err := w.run(planned[:r.IntN(len(planned)+1)], nothing); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			planned, _ = Make(secured(to...), w.seen(), options)
			if err := w.run(planned, nothing); err != nil {
				t.Fatalf("seed %d, planned again: %v", seed, err)
			}
			if again, _ := Make(secured(to...), w.seen(), options); len(again) > 0 {
				t.Fatalf("seed %d: then %q", seed, texts(again))
			}
			for i, l := range w.seen().LoadBalancers[0].Listeners {
				if diff := cmp.Diff(to[i][1:], l.Additional(), cmpopts.SortSlices(func(a, b string) bool { return a < b }), cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("seed %d: certificates (-want +got):\n%s", seed, diff)
				}
			}
		}
	}
}
