// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// The fields by which caches find the bindings of a target group, by its ARN.
const (
	IndexGroup     = "ownership.group"
	IndexExclusive = "ownership.exclusive" // only bindings that do not share the group
)

// Indexes maps each field to its value in a binding.
var Indexes = map[string]func(*v1beta1.TargetGroupBinding) string{
	IndexGroup: func(b *v1beta1.TargetGroupBinding) string { return b.Spec.TargetGroupARN },
	IndexExclusive: func(b *v1beta1.TargetGroupBinding) string {
		if b.Spec.MultiClusterTargetGroup {
			return ""
		}
		return b.Spec.TargetGroupARN
	},
}

// AddIndexes adds the indexes to a cache. A cache takes each only once, and webhook and registrar share the manager's: so the
// program adds them, before it sets up either.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for field, value := range Indexes {
		values := func(o client.Object) []string { return []string{value(o.(*v1beta1.TargetGroupBinding))} }
		if err := indexer.IndexField(ctx, &v1beta1.TargetGroupBinding{}, field, values); err != nil {
			return fmt.Errorf("indexing bindings by %s: %w", field, err)
		}
	}
	return nil
}

// Duplicates lists the other bindings of the binding's target group, but for those that share it knowingly as it does, and those that
// have let go of it already. Of a group that thousands share, those are not even listed. The reader has the indexes; what it lists is
// read only.
func Duplicates(ctx context.Context, reader client.Reader, binding *v1beta1.TargetGroupBinding) ([]v1beta1.TargetGroupBinding, error) {
	if binding.Spec.TargetGroupARN == "" {
		return nil, nil
	}
	index := IndexGroup
	if binding.Spec.MultiClusterTargetGroup {
		index = IndexExclusive
	}
	var list v1beta1.TargetGroupBindingList
	err := reader.List(ctx, &list, client.UnsafeDisableDeepCopy, client.MatchingFields{index: binding.Spec.TargetGroupARN})
	if err != nil {
		return nil, fmt.Errorf("listing bindings of the target group: %w", err)
	}
	var duplicates []v1beta1.TargetGroupBinding
	for i := range list.Items {
		other := &list.Items[i]
		if other.UID != binding.UID && !Released(other) {
			duplicates = append(duplicates, *other)
		}
	}
	return duplicates, nil
}
