// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLogSince(t *testing.T) {
	cases := map[string]struct {
		limit int
		from  int
		want  []int
	}{
		"all":           {want: []int{1, 2, 3}},
		"the rest":      {from: 2, want: []int{3}},
		"past the end":  {from: 3},
		"negative":      {from: -1, want: []int{1, 2, 3}},
		"up to a limit": {limit: 2, want: []int{1, 2}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			log := New[int](tc.limit)
			for i := 1; i <= 3; i++ {
				log.Append(i)
			}
			if diff := cmp.Diff(tc.want, log.Since(tc.from)); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
		})
	}
}
