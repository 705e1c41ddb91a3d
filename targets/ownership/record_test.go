// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/targets/fixture"
)

var (
	one, two = fixture.One, fixture.Two
)

func TestRecordIsReadAsItIsWritten(t *testing.T) {
	tests := map[string]struct {
		text string
		want Record
	}{
		"nothing":  {text: "", want: Record{}},
		"two":      {text: "10.0.0.1:8080,10.0.0.2:8080", want: Record{one: "", two: ""}},
		"spaces":   {text: " 10.0.0.1:8080, 10.0.0.2:8080\n", want: Record{one: "", two: ""}},
		"IPv6":     {text: "2001:db8::1:8080", want: Record{{ID: "2001:db8::1", Port: 8080}: ""}},
		"instance": {text: "i-0123456789abcdef0:30080", want: Record{{ID: "i-0123456789abcdef0", Port: 30080}: ""}},
		"QUIC":     {text: "10.0.0.1:8080:0x00000000000000f1", want: Record{one: ":0x00000000000000f1"}},
		"QUIC, IPv6": {
			text: "2001:db8::1:8080:0x00000000000000f1",
			want: Record{{ID: "2001:db8::1", Port: 8080}: ":0x00000000000000f1"},
		},
		"nonsense": {text: ":,x,10.0.0.3:,10.0.0.3:0,10.0.0.3:70000,:80,10.0.0.1:8080", want: Record{one: ""}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ParseRecord(tc.text)); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParseRecord(f *testing.F) {
	for _, seed := range []string{
		"", "10.0.0.1:8080", "10.0.0.1:8080,10.0.0.2:8080", "fd00::1:8080", "i-0123456789abcdef0:30080", " 10.0.0.1:80 ,,", ":80", "x:0",
		"10.0.0.1:65536", "10.0.0.1:443:f00d", "10.0.0.1:443:0x000000000000f00d", "x:0xa:0xb", ":0x", "fd00::1:443:0x", "10.0.0.1:+80", "10.0.0.1:8080\x00", strings.Repeat(",", 100),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed := ParseRecord(text)
		if len(parsed) > strings.Count(text, ",")+1 {
			t.Errorf("%d targets of %q", len(parsed), text)
		}
		for target := range parsed {
			if target.ID == "" || target.Port < 1 || target.Port > 65535 {
				t.Errorf("target %v of %q", target, text)
			}
		}
		if diff := cmp.Diff(parsed, ParseRecord(parsed.String())); diff != "" {
			t.Errorf("written and read again (-want +got):\n%s", diff)
		}
		fixture.Linear(t, func(times int) { _ = ParseRecord(strings.Repeat(text+",", times)).String() })
	})
}
