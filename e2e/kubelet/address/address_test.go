// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package address

import (
	"net/netip"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// newPool is that of 10.9.8.0/24, of a node that is at .1.
func newPool(reuse bool) *Pool {
	return NewPool(netip.MustParsePrefix("10.9.8.0/24"), netip.MustParseAddr("10.9.8.1"), reuse)
}

var anyPod types.NamespacedName

func TestAddressesGoRound(t *testing.T) {
	forced := types.NamespacedName{Name: "forced"}
	take := func(a *Pool, pod types.NamespacedName, had string) string {
		ip, err := a.Take(pod, had)
		if err != nil {
			t.Fatal(err)
		}
		return ip.String()
	}
	a := newPool(false)
	first := take(a, anyPod, "")
	a.Free(netip.MustParseAddr(first))
	if second := take(a, anyPod, ""); first != "10.9.8.2" || second != "10.9.8.3" {
		t.Errorf("got %s, %s", first, second)
	}
	a.Force(forced, netip.MustParseAddr("10.9.8.3"))
	if ip, err := a.Take(forced, ""); err == nil {
		t.Errorf("got %s while the forced address is in use", ip)
	}
	a.Free(netip.MustParseAddr("10.9.8.3"))
	if got := take(a, anyPod, ""); got != "10.9.8.4" {
		t.Errorf("got %s for a pod that no address was forced on", got)
	}
	if got := take(a, forced, ""); got != "10.9.8.3" {
		t.Errorf("got %s, want the forced address", got)
	}
	if got := take(a, anyPod, "10.9.8.77"); got != "10.9.8.77" {
		t.Errorf("got %s, want the address that the pod had", got)
	}
	var err error
	taken := 3
	for ; err == nil; taken++ {
		_, err = a.Take(anyPod, "")
	}
	if taken != 254 { // .2 to .254, and the attempt that failed
		t.Errorf("range was full after %d", taken)
	}
}

func TestAddressesAreReusedOnDemand(t *testing.T) {
	a := newPool(true)
	first, _ := a.Take(anyPod, "")
	_, _ = a.Take(anyPod, "")
	a.Free(first)
	if again, _ := a.Take(anyPod, ""); again != first {
		t.Errorf("got %s, want %s", again, first)
	}
}
