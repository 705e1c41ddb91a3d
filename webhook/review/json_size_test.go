// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"encoding/json"
	"testing"
)

// FuzzHoldsMore compares counting with decoding.
func FuzzHoldsMore(f *testing.F) {
	f.Add([]byte(`[1,"a,b",{"c":[1,2,3]},[[],[]],"\"," ]`), 3)
	f.Add([]byte(`{"a":1,"b":{"c":1,"d":2}}`), 1)
	f.Add([]byte(`[]`), 0)
	f.Fuzz(func(t *testing.T, data []byte, most int) {
		var list []any
		var object map[string]any
		switch {
		case most < 1:
			return
		case json.Unmarshal(data, &list) == nil && list != nil:
			if got, want := HoldsMore(data, most, 1), len(list) > most; got != want {
				t.Errorf("%s holds more than %d: %v, want %v", data, most, got, want)
			}
		case json.Unmarshal(data, &object) == nil && len(object) > most && !HoldsMore(data, most, 1): // the same key may come twice
			t.Errorf("%s holds no more than %d, and has %d", data, most, len(object))
		}
	})
}
