//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// AWS lets few load balancers, target groups and rules be made a second. Many groups of one namespace wait for that; those of another
// take turns with them.
func TestManyGroupsOfANamespaceDelayNoOther(t *testing.T) {
	t.Parallel()
	crowd, app := newApp("crowd"), newApp("beside-crowd")
	for _, a := range []*testbed.App{crowd, app} {
		a.Replicas = 1
		bed.Deploy(t, a)
	}
	const groups, each = 7, 4
	for i := range groups * each {
		create(t, member(crowd, fmt.Sprintf("crowd-%02d", i), fmt.Sprintf("crowd-%d", i/each)))
	}
	create(t, member(app, "beside-crowd", "beside-crowd"))
	made := func(a *testbed.App) int {
		var list v1beta1.TargetGroupBindingList
		suite.Must(t, bed.Client.List(t.Context(), &list, client.InNamespace(a.Name)))
		return len(list.Items)
	}
	suite.Eventually(t, "the target group of the other namespace to be made", func() error {
		if made(app) == 0 {
			return fmt.Errorf("it is not, %d of the many are", made(crowd))
		}
		return nil
	})
	if n := made(crowd); n > groups*each/2 {
		t.Errorf("%d of %d target groups were made before that of the other namespace, want at most half", n, groups*each)
	}
}
