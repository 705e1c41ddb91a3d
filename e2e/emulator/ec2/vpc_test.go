// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"testing"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/region"
)

func TestVPCsBelongToAccounts(t *testing.T) {
	peer := PeeredVPC(region.DefaultName)
	peer.Account = "210987654321"
	n := New(region.New(region.Options{}), Options{VPCs: []VPC{DefaultVPC(region.DefaultName), peer}})
	for account, want := range map[string]string{"": DefaultVPCID, region.DefaultAccount: DefaultVPCID, peer.Account: PeeredVPCID} {
		got, err := n.VPCs(account)
		if err != nil || len(got) != 1 || got[0].ID != want {
			t.Errorf("account %q sees %v, %v, want %s", account, got, err, want)
		}
	}
	if _, err := n.VPCs("", PeeredVPCID); !refusal.Is(err, "InvalidVpcID.NotFound") {
		t.Errorf("another account's VPC: %v", err)
	}
}
