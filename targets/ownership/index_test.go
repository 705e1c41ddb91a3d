// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// indexes are those that were added.
type indexes map[string]client.IndexerFunc

func (i indexes) IndexField(_ context.Context, o client.Object, field string, values client.IndexerFunc) error {
	_, ofBindings := o.(*v1beta1.TargetGroupBinding)
	if _, known := i[field]; known || !ofBindings {
		return errors.New("indexer conflict")
	}
	i[field] = values
	return nil
}

func TestSharedGroupsAreInOneIndexOnly(t *testing.T) {
	added := indexes{}
	if err := AddIndexes(t.Context(), added); err != nil {
		t.Fatal(err)
	}
	exclusive, share := newBinding(1, "a"), newBinding(1, "b", shared)
	for field, want := range map[string][]string{
		IndexGroup:     {testARN, testARN},
		IndexExclusive: {testARN, ""},
	} {
		got := append(added[field](&exclusive), added[field](&share)...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("values of %s (-want +got):\n%s", field, diff)
		}
	}
	if err := AddIndexes(t.Context(), added); err == nil {
		t.Error("no error where the cache has the indexes already")
	}
}
