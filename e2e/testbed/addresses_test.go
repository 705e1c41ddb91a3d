// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"testing"

	"github.com/targetgate/targetgate/e2e/kubelet"
)

func TestReserveAddressesSharesNone(t *testing.T) {
	first, second := kubelet.NumberedNodes(3), kubelet.NumberedNodes(3)
	for _, nodes := range [][]kubelet.Node{first, second} {
		held, err := reserveAddresses(nodes)
		for _, listener := range held {
			defer listener.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	all := append(first, second...)
	for i, a := range all {
		for _, b := range all[:i] {
			if a.PodCIDR.Overlaps(b.PodCIDR) {
				t.Errorf("%s of %s overlaps with %s of %s", a.PodCIDR, a.Name, b.PodCIDR, b.Name)
			}
		}
	}
}
