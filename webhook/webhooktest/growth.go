// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooktest

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
)

// Listed repeats a text until it has that many bytes, as a list of JSON.
func Listed(text string, bytes int) string {
	return strings.Repeat(text+",", bytes/(len(text)+1)) + text
}

// Numbered is an object of JSON with so many bytes of members.
func Numbered(bytes int) string {
	var out strings.Builder
	for i := 0; out.Len() < bytes; i++ {
		fmt.Fprintf(&out, `"%x":"",`, i)
	}
	return out.String() + `"app":"web"`
}

// cost is how many bytes and how many pieces of memory are taken for the review, the least of three times: a collection empties pools,
// and whatever else runs takes memory, too.
func cost(hook http.Handler, review string) (bytes, pieces float64) {
	bytes, pieces = math.Inf(1), math.Inf(1)
	for range 3 {
		var before, after runtime.MemStats
		w, req := NewRecorder(), httptest.NewRequest(http.MethodPost, Path, strings.NewReader(review))
		runtime.ReadMemStats(&before)
		hook.ServeHTTP(w, req)
		runtime.ReadMemStats(&after)
		bytes, pieces = min(bytes, float64(after.TotalAlloc-before.TotalAlloc)), min(pieces, float64(after.Mallocs-before.Mallocs))
	}
	return bytes, pieces
}

// CheckGrowth checks that no review takes much more memory than it is counted for, and four times as large a one no more than
// four times as much, or as much as the largest that is worked on. Hostile returns shapes of objects of a size, of makes a
// review of one, and weight is what a review of a length is counted for.
func CheckGrowth(
	t *testing.T, hook http.Handler, hostile func(bytes int) map[string]string, of func(string) string, weight func(int64) int64,
) {
	t.Helper()
	const (
		size        = 256 << 10
		slackBytes  = 4 << 20  // for what is decoded within bounds, its faults and the patch of the longest list
		slackPieces = 150_000  // of it
		tolerance   = 1.25 * 4 // for four times as large a review
	)
	larger := hostile(4 * size)
	for shape, object := range hostile(size) {
		t.Run(shape, func(t *testing.T) {
			small, large := of(object), of(larger[shape])
			bytes, pieces := cost(hook, small)
			more, morePieces := cost(hook, large)
			if most := float64(weight(int64(len(large))) + slackBytes); more > most {
				t.Errorf("%d bytes take %.0f, want at most %.0f", len(large), more, most)
			}
			if more > bytes*tolerance+slackBytes || morePieces > pieces*tolerance+slackPieces {
				t.Errorf("%d bytes take %.0f in %.0f pieces, %d take %.0f in %.0f", len(small), bytes, pieces, len(large), more, morePieces)
			}
		})
	}
}
