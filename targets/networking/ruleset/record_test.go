// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ruleset

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRecordIsReadAsItIsWritten(t *testing.T) {
	record := Record{
		rule(80, 443, "sg-1"): {Phase: Granted, At: noon}, rule(80, 80, "10.0.0.0/8"): {Phase: Revoking, At: noon.Add(time.Millisecond)},
		rule(0, lastPort, "2001:db8::/32"): {Phase: Revoked, At: noon},
	}
	const want = "targetgate-rules/1\n" +
		"revoked 2026-11-22T12:00:00Z tcp 0 65535 2001:db8::/32\n" +
		"granted 2026-11-22T12:00:00Z tcp 80 443 sg-1\n" +
		"revoking 2026-11-22T12:00:00.001Z tcp 80 80 10.0.0.0/8\n"
	if diff := cmp.Diff(want, record.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	got, err := ParseRecord(want)
	if diff := cmp.Diff(record, got, prefixes); diff != "" || err != nil {
		t.Errorf("error %v, record (-want +got):\n%s", err, diff)
	}
}

func TestRecordThatIsNotUnderstoodIsAnError(t *testing.T) {
	const head = "targetgate-rules/1\n"
	for name, text := range map[string]string{
		"nothing":            "",
		"another version":    "targetgate-rules/2\n",
		"too few fields":     head + "granted 2026-11-22T12:00:00Z tcp 80 443\n",
		"an unknown phase":   head + "owned 2026-11-22T12:00:00Z tcp 80 443 sg-1\n",
		"no time":            head + "granted noon tcp 80 443 sg-1\n",
		"another protocol":   head + "granted 2026-11-22T12:00:00Z icmp 80 443 sg-1\n",
		"a port too large":   head + "granted 2026-11-22T12:00:00Z tcp 80 65536 sg-1\n",
		"no source":          head + "granted 2026-11-22T12:00:00Z tcp 80 443 \n",
		"half a CIDR":        head + "granted 2026-11-22T12:00:00Z tcp 80 443 10.0.0.0/\n",
		"more than can be":   strings.Repeat("x", maxRecordBytes+1),
		"an empty last line": head + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			if record, err := ParseRecord(text); err == nil {
				t.Errorf("read as %v", record)
			}
		})
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add(Record{rule(80, 443, "sg-1"): {Phase: Granted, At: noon}, rule(1, 1, "::/0"): {Phase: Revoked, At: noon}}.String())
	f.Add("targetgate-rules/1\ngranted 2026-11-22T12:00:00+01:00 udp 80 443 10.0.0.7/8\n")
	f.Add("targetgate-rules/1\n")
	f.Fuzz(func(t *testing.T, text string) {
		record, err := ParseRecord(text)
		if err != nil {
			return
		}
		again, err := ParseRecord(record.String())
		if diff := cmp.Diff(record, again, prefixes); diff != "" || err != nil {
			t.Errorf("error %v, written and read again (-want +got):\n%s", err, diff)
		}
	})
}
