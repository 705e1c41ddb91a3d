// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTailReturnsLastLines(t *testing.T) {
	long := strings.Repeat("x", tailBytes)
	cases := map[string]struct {
		content string
		want    string
	}{
		"empty":                       {content: "", want: ""},
		"one line":                    {content: "a\n", want: "a"},
		"no final line break":         {content: "a\nb", want: "a\nb"},
		"as many as are shown":        {content: numbered(1, tailLines), want: strings.TrimSpace(numbered(1, tailLines))},
		"more than are shown":         {content: numbered(1, tailLines+5), want: strings.TrimSpace(numbered(6, tailLines+5))},
		"a line that is cut goes":     {content: "start " + long[6:] + "\nb\n", want: "b"},
		"a line that is cut but only": {content: "start " + long, want: long},
		"a cut line, line break last": {content: "start " + long[1:] + "\n", want: long[1:]},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, []byte(tc.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, tail(path)); diff != "" {
				t.Errorf("tail() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTailTellsOfAMissingLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if got := tail(path); !strings.Contains(got, "no such file") {
		t.Errorf("tail() = %q, want a word about the missing file", got)
	}
}

func numbered(first, last int) string {
	var text strings.Builder
	for i := first; i <= last; i++ {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	return text.String()
}
