// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package consent

import (
	"strings"
	"testing"
)

// Whatever lets a binding of the namespace have the group lets its Ingresses send requests to it, and nothing else does.
func TestWhoMaySendRequests(t *testing.T) {
	const add, none = "its owner can add prod/shop to it, after a space", "the tag targetgate.dev/bind=prod/shop"
	for name, tc := range map[string]struct {
		tags map[string]string
		want string
	}{
		"the namespace":               {tags: map[string]string{TagKey: "prod/till prod/shop"}},
		"a binding of it":             {tags: map[string]string{TagKey: "prod/shop/web"}},
		"all namespaces":              {tags: map[string]string{TagKey: "prod/+"}},
		"all clusters":                {tags: map[string]string{TagKey: "+/shop/+"}},
		"made for it":                 {tags: map[string]string{clusterTag: "prod", partTag: "shop/web-web:80"}},
		"no tag":                      {want: none},
		"spaces":                      {tags: map[string]string{TagKey: "  "}, want: none},
		"another namespace":           {tags: map[string]string{TagKey: "prod/till"}, want: add},
		"one that begins alike":       {tags: map[string]string{TagKey: "prod/shopping prod/sho"}, want: add},
		"another cluster":             {tags: map[string]string{TagKey: "staging/shop"}, want: add},
		"the cluster alone":           {tags: map[string]string{TagKey: "prod"}, want: add},
		"no binding":                  {tags: map[string]string{TagKey: "prod/shop/"}, want: add},
		"made for another namespace":  {tags: map[string]string{clusterTag: "prod", partTag: "till/web-web:80"}, want: none},
		"made in another cluster":     {tags: map[string]string{clusterTag: "staging", partTag: "shop/web-web:80"}, want: none},
		"made in another, once":       {tags: map[string]string{oldClusterTag: "prod", partTag: "shop/web-web:80"}, want: none},
		"made for one that is longer": {tags: map[string]string{clusterTag: "prod", partTag: "shopping/web-web:80"}, want: none},
	} {
		got := Sender{Cluster: "prod", Namespace: "shop"}.Refusal(tc.tags)
		if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
		if binder := (Binder{Cluster: "prod", Namespace: "shop"}); (binder.Refusal(tc.tags) == "") != (got == "") {
			t.Errorf("%s: bindings are treated otherwise: %q", name, binder.Refusal(tc.tags))
		}
	}
}
