// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"
)

func TestHoldersFollowThePasses(t *testing.T) {
	h := newHolders()
	webKey := types.NamespacedName{Namespace: "shop", Name: "web"}
	api := types.NamespacedName{Namespace: "shop", Name: "api"}
	elsewhere := types.NamespacedName{Namespace: "elsewhere", Name: "web"}
	ids := func(ids ...string) map[string]bool {
		out := map[string]bool{}
		for _, id := range ids {
			out[id] = true
		}
		return out
	}
	h.Hold(webKey, ids("10.0.0.1", "10.0.0.2"))
	h.Hold(api, ids("10.0.0.2"))
	h.Hold(elsewhere, ids("10.0.0.1"))
	h.Hold(webKey, ids("10.0.0.2", "10.0.0.3"))
	for id, want := range map[string][]string{"10.0.0.1": nil, "10.0.0.2": {"api", "web"}, "10.0.0.3": {"web"}} {
		got := h.Of("shop", []string{id})
		slices.Sort(got)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("who holds %s (-want +got):\n%s", id, diff)
		}
	}
	for _, key := range []types.NamespacedName{webKey, api, elsewhere} {
		h.Hold(key, nil)
	}
	if len(h.bindings) > 0 || len(h.held) > 0 {
		t.Errorf("left when nobody holds anything: %v, %v", h.bindings, h.held)
	}
}
