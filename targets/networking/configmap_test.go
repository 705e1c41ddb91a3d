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
	"github.com/targetgate/targetgate/targets/networking/ruleset"
)

var (
	noon     = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	prefixes = cmpopts.EquateComparable(netip.Prefix{})
)

func TestConfigMapKeepsRecords(t *testing.T) {
	key := client.ObjectKey{Namespace: "targetgate-system", Name: "targetgate-security-group-rules"}
	empty := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	api := fake.NewClientBuilder().Build()
	records := &ConfigMap{Client: api, Reader: api, Key: key}
	record := ruleset.Record{rule(80, 443, "sg-lb"): {Phase: ruleset.Granted, At: noon}}
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
		if err := records.Save(t.Context(), "sg-1", ruleset.Record{}); err != nil {
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
	granted, revoking, revoked := ruleset.Record{r: {Phase: ruleset.Granted, At: noon}}, ruleset.Record{r: {Phase: ruleset.Revoking, At: noon}}, ruleset.Record{r: {Phase: ruleset.Revoked, At: noon}}
	tests := map[string]struct {
		before ruleset.Record
		revoke bool
		err    error
		want   ruleset.Record
	}{
		"granted":                              {want: granted},
		"granted, no answer":                   {err: lost, want: granted},
		"granted, refused":                     {err: refused, want: ruleset.Record{}},
		"it was there, and not ours":           {err: duplicate, want: ruleset.Record{}},
		"it was there, and ours":               {before: granted, err: duplicate, want: granted},
		"it was there, and perhaps removed":    {before: revoking, err: duplicate, want: granted},
		"it was there, and removed by us":      {before: revoked, err: duplicate, want: ruleset.Record{}},
		"not tried yet":                        {err: errNotTried, want: ruleset.Record{}},
		"revoked":                              {before: granted, revoke: true, want: revoked},
		"revoked, it was gone":                 {before: granted, revoke: true, err: apiError("InvalidPermission.NotFound"), want: revoked},
		"revoked, refused":                     {before: granted, revoke: true, err: apiError("UnauthorizedOperation"), want: granted},
		"revoked, no answer":                   {before: granted, revoke: true, err: lost, want: revoking},
		"revoked by its source, not in record": {revoke: true, err: refused, want: ruleset.Record{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			sent, next := &sender{results: map[ec2.Rule]error{r: tc.err}}, ruleset.Record{}
			if tc.revoke {
				next[r] = ruleset.Entry{Phase: ruleset.Revoking, At: noon}
				settleRevokes(next, tc.before, labelled(r), sent, noon)
			} else {
				next[r] = ruleset.Entry{Phase: ruleset.Granted, At: noon}
				settleGrants(next, tc.before, []ec2.Rule{r}, sent, noon)
			}
			if diff := cmp.Diff(tc.want, next, prefixes); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}
