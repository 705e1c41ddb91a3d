// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/targetgate/targetgate/aws/ec2"
)

var (
	noon     = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	prefixes = cmpopts.EquateComparable(netip.Prefix{})
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

func TestConfigMapKeepsRecords(t *testing.T) {
	key := client.ObjectKey{Namespace: "targetgate-system", Name: "targetgate-security-group-rules"}
	empty := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	api := fake.NewClientBuilder().Build()
	records := &ConfigMap{Client: api, Reader: api, Key: key}
	record := Record{rule(80, 443, "sg-lb"): {Phase: Granted, At: noon}}
	if err := records.Save(t.Context(), "sg-1", record); !apierrors.IsNotFound(err) {
		t.Errorf("without the ConfigMap: %v, want not found", err)
	}
	if _, err := records.Load(t.Context()); !apierrors.IsNotFound(err) || !strings.HasSuffix(err.Error(), "; create it, as targetgate's chart does") {
		t.Errorf("without the ConfigMap: %v, want not found, and what to do", err)
	}
	if err := api.Create(t.Context(), empty); err != nil {
		t.Fatal(err)
	}
	if got, err := records.Load(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("loaded %v, %v from an empty ConfigMap", got, err)
	}
	for range 2 { // again is no error
		if err := records.Save(t.Context(), "sg-1", record); err != nil {
			t.Fatal(err)
		}
	}
	broken := client.RawPatch(types.MergePatchType, []byte(`{"data":{"sg-2":"?"}}`))
	if err := api.Patch(t.Context(), empty, broken); err != nil {
		t.Fatal(err)
	}
	got, err := records.Load(t.Context())
	if err != nil || len(got) != 2 {
		t.Fatalf("loaded %v, %v, want sg-1 and sg-2", got, err)
	}
	if diff := cmp.Diff(record, got["sg-1"].Record, prefixes); diff != "" || got["sg-1"].Err != nil {
		t.Errorf("error %v, record (-want +got):\n%s", got["sg-1"].Err, diff)
	}
	if got["sg-2"].Err == nil {
		t.Error("a record that cannot be read has no error")
	}
	for range 2 {
		if err := records.Save(t.Context(), "sg-1", Record{}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := records.Load(t.Context()); err != nil || len(got) != 1 {
		t.Errorf("loaded %v, %v after an empty record, want sg-2 alone", got, err)
	}
}

func TestRecordAfterCalls(t *testing.T) {
	r := rule(80, 80, "sg-1")
	duplicate, refused, lost := apiError("InvalidPermission.Duplicate"), apiError("InvalidGroup.NotFound"), errors.New("no answer")
	granted, revoking, revoked := Record{r: {Granted, noon}}, Record{r: {Revoking, noon}}, Record{r: {Revoked, noon}}
	tests := map[string]struct {
		before Record
		revoke bool
		err    error
		want   Record
	}{
		"granted":                              {want: granted},
		"granted, no answer":                   {err: lost, want: granted},
		"granted, refused":                     {err: refused, want: Record{}},
		"it was there, and not ours":           {err: duplicate, want: Record{}},
		"it was there, and ours":               {before: granted, err: duplicate, want: granted},
		"it was there, and perhaps removed":    {before: revoking, err: duplicate, want: granted},
		"it was there, and removed by us":      {before: revoked, err: duplicate, want: Record{}},
		"not tried yet":                        {err: errNotTried, want: Record{}},
		"revoked":                              {before: granted, revoke: true, want: revoked},
		"revoked, it was gone":                 {before: granted, revoke: true, err: apiError("InvalidPermission.NotFound"), want: revoked},
		"revoked, refused":                     {before: granted, revoke: true, err: apiError("UnauthorizedOperation"), want: granted},
		"revoked, no answer":                   {before: granted, revoke: true, err: lost, want: revoking},
		"revoked by its source, not in record": {revoke: true, err: refused, want: Record{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			sent, next := &sender{results: map[ec2.Rule]error{r: tc.err}}, Record{}
			if tc.revoke {
				next[r] = Entry{Revoking, noon}
				settleRevokes(next, tc.before, labelled(r), sent, noon)
			} else {
				next[r] = Entry{Granted, noon}
				settleGrants(next, tc.before, []ec2.Rule{r}, sent, noon)
			}
			if diff := cmp.Diff(tc.want, next, prefixes); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}
