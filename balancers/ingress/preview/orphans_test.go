// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/balancers"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

func TestTheListOfOrphansSaysWhatBecomesOfEach(t *testing.T) {
	since := time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)
	gone := steps.Plan{{Why: "no member wants it", Change: steps.DeleteLoadBalancer{LoadBalancer: stack.Ref{ID: "arn", Part: "LoadBalancer"}}}}
	list := []balancers.Orphan{
		{Group: stack.Group{Name: "a"}, LoadBalancers: []string{"k8s-a"}, Since: since, Due: since.Add(24 * time.Hour), Plan: gone},
		{Group: stack.Group{Name: "b"}, LoadBalancers: []string{"k8s-b", "k8s-b-2"}},
		{Group: stack.Group{Name: "c"}, LoadBalancers: []string{"k8s-c"}, Kept: "--orphan-grace is 0"},
		{Group: stack.Group{Name: "d"}, LoadBalancers: []string{"mine"}, Kept: "mine is not ours", Refused: "mine is not ours"},
	}
	var out strings.Builder
	if err := OrphansOf(list, "").Text(&out); err != nil {
		t.Fatal(err)
	}
	want := `Group a: load balancer k8s-a, without Ingress, since 2026-11-28T10:00:00Z
  is deleted by itself after 2026-11-29T10:00:00Z
  1. ` + gone[0].String() + ` (no member wants it)
Group b: load balancer k8s-b and k8s-b-2, without Ingress, not known since when
  is deleted by itself once it has had no Ingress for --orphan-grace
Group c: load balancer k8s-c, without Ingress, not known since when
  is not deleted by itself: --orphan-grace is 0
Group d: load balancer mine, without Ingress, not known since when
  is not deleted, and cannot be with --delete: mine is not ours
4 groups without Ingress. To keep one, create an Ingress of its group; to delete one now, name it with --delete.
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	never := OrphansOf(list, "nobody deletes")
	if o := never.Orphans[0]; o.Kept != "nobody deletes" || o.DeletedAfter != nil {
		t.Errorf("%+v", o)
	}
	for name, group := range map[string]string{"a": "a", "k8s-b-2": "b", "mine": "d"} {
		if o, found := never.Find(name); !found || o.Group != group {
			t.Errorf("%s: %+v, %t", name, o, found)
		}
	}
	if _, found := never.Find("k8s"); found {
		t.Error("a part of a name is found")
	}
	out.Reset()
	if err := OrphansOf(nil, "").Text(&out); err != nil || out.String() != "Every load balancer has an Ingress.\n" {
		t.Errorf("%q, error %v", out.String(), err)
	}
}
