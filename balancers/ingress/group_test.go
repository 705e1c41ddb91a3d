// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func TestCheckGroupName(t *testing.T) {
	for name, valid := range map[string]bool{
		"a": true, "team.public-edge": true, "0": true, "a--b..c": true, strings.Repeat("a", 63): true,
		"": false, "A": false, "-a": false, "a.": false, "a/b": false, "a_b": false, "a\n": false, strings.Repeat("a", 64): false,
	} {
		if err := CheckGroupName(name); (err == nil) != valid {
			t.Errorf("%q: %v, want valid: %v", name, err, valid)
		}
	}
}

func TestGroupsHeld(t *testing.T) {
	shop := types.NamespacedName{Namespace: "shop", Name: "web"}
	tests := map[string]struct {
		finalizers []string
		want       []Group
	}{
		"none":                    {},
		"foreign":                 {finalizers: []string{"foregroundDeletion", "ingress.k8s.aws/other"}},
		"its own":                 {finalizers: []string{"ingress.k8s.aws/resources"}, want: []Group{{Namespace: "shop", Name: "web"}}},
		"moving into a group":     {finalizers: []string{"ingress.k8s.aws/resources", "group.ingress.k8s.aws/edge"}, want: []Group{{Namespace: "shop", Name: "web"}, {Name: "edge"}}},
		"no name":                 {finalizers: []string{"group.ingress.k8s.aws/"}},
		"a name that none can be": {finalizers: []string{"group.ingress.k8s.aws/Edge"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := GroupsHeld(shop, tc.finalizers)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			for i, group := range got {
				if group.Finalizer() != tc.finalizers[i] {
					t.Errorf("group %s has finalizer %s, want %s", group, group.Finalizer(), tc.finalizers[i])
				}
			}
		})
	}
}
