// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import "testing"

func TestMapAddress(t *testing.T) {
	cases := map[string]struct {
		mapped  func(string) (string, error)
		address string
		want    string
	}{
		"pod":           {MapAddress, "10.1.2.3", "127.1.2.3"},
		"loopback":      {MapAddress, "127.0.0.1", "127.0.0.1"},
		"loopback IPv6": {MapAddress, "::1", "::1"},
		"elsewhere":     {MapAddress, "192.168.0.1", ""},
		"IPv6":          {MapAddress, "2001:db8::1", ""},
		"no address":    {MapAddress, "i-1", ""},
		"mapped IPv6":   {MapAddressIPv6, "2001:db8::1", "::1"},
		"IPv4 too":      {MapAddressIPv6, "10.1.2.3", "127.1.2.3"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := tc.mapped(tc.address)
			if got != tc.want || (err != nil) != (tc.want == "") {
				t.Errorf("%s is mapped to %q: %v", tc.address, got, err)
			}
		})
	}
}
