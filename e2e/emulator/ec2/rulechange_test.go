// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/e2e/emulator/region"
)

func TestRuleChangesAreRememberedAsTheyWereMade(t *testing.T) {
	b := newBed(t, region.Range{Min: time.Minute, Max: time.Minute})
	one, two := tcp(1, 1, "10.0.0.0/8"), tcp(2, 2, "10.0.0.0/8")
	wantRefusal(t, b.AuthorizeIngress("", b.group, permit(tcp(1, 1, "10.9.9.9/8"), two)), "")
	wantRefusal(t, b.AuthorizeIngress("", b.group, permit(one)), "InvalidPermission.Duplicate")
	b.clock.Step(time.Second)
	_, err := b.RevokeIngress("", b.group, []Rule{one})
	wantRefusal(t, err, "")
	_, err = b.RevokeIngress("", b.group, []Rule{one})
	wantRefusal(t, err, "InvalidPermission.NotFound")
	want := []RuleChange{
		{Time: epoch, Group: b.group, Rule: one}, {Time: epoch, Group: b.group, Rule: two},
		{Time: epoch.Add(time.Second), Group: b.group, Rule: one, Removed: true},
	}
	if diff := cmp.Diff(want, b.RuleChanges(0), comparePrefixes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[2:], b.RuleChanges(2), comparePrefixes); diff != "" {
		t.Errorf("changes from the third on (-want +got):\n%s", diff)
	}
}
