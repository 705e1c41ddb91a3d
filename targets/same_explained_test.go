// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/explain"
	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// wantSameExplained fails the test when what is explained, without the indexes of a cache, differs from what the registrar resolves.
func (b *bed) wantSameExplained(binding *v1beta1.TargetGroupBinding, inGroup []elbv2.Target, res endpoints.Resolution) {
	b.t.Helper()
	explained, err := explain.Resolve(b.t.Context(), fixture.WithoutIndexes(b.cluster), binding, inGroup)
	if err != nil {
		b.t.Fatal(err)
	}
	want, got := map[elbv2.Target]endpoints.State{}, map[elbv2.Target]endpoints.State{}
	for target, ep := range res.Endpoints {
		want[target] = ep.State
	}
	for target, ep := range explained.Endpoints {
		got[target] = ep.State
	}
	if diff := cmp.Diff(want, got); diff != "" || explained.Missing != res.Missing {
		b.t.Errorf("explained is that %q is missing, the registrar misses %q; states (-registrar +explained):\n%s", explained.Missing,
			res.Missing, diff)
	}
}
