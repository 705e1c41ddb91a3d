// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"fmt"
	"reflect"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// The fields by which Ingresses and bindings are found, so that no pass and no event looks through all of them.
const (
	// groupField has the groups that an Ingress may belong to, as far as it says so itself, and those whose finalizers it has; of a binding,
	// the one whose labels it has.
	groupField = "group"
	// serviceField has the names of the Services that an Ingress sends requests to; they are in its namespace.
	serviceField = "service"
)

// indexes have the values of each field.
var indexes = []struct {
	of     client.Object
	field  string
	values client.IndexerFunc
}{
	{&networkingv1.Ingress{}, groupField, func(o client.Object) []string { return groupsOf(o.(*networkingv1.Ingress)) }},
	{&networkingv1.Ingress{}, serviceField, func(o client.Object) (names []string) {
		for _, service := range input.ServicesOf(o.(*networkingv1.Ingress)) {
			names = append(names, service.Name)
		}
		return names
	}},
	{&v1beta1.TargetGroupBinding{}, groupField, func(o client.Object) []string {
		if group, ok := membership.GroupOfLabels(o.GetLabels()); ok {
			return []string{group.String()}
		}
		return nil
	}},
}

func groupsOf(i *networkingv1.Ingress) []string {
	name := types.NamespacedName{Namespace: i.Namespace, Name: i.Name}
	groups := []string{name.String()}
	if named := i.Annotations[annotation.GroupName.FullName()]; named != "" {
		groups = append(groups, named)
	}
	for _, held := range membership.GroupsHeld(name, i.Finalizers) {
		groups = append(groups, held.String())
	}
	return groups
}

// ValuesOf are the values of a field by which an object is found; none if objects of its kind are not found by it.
func ValuesOf(object client.Object, field string) []string {
	for _, index := range indexes {
		if index.field == field && reflect.TypeOf(index.of) == reflect.TypeOf(object) {
			return index.values(object)
		}
	}
	return nil
}

// AddIndexes adds the fields by which Ingresses and bindings are found.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for _, index := range indexes {
		if err := indexer.IndexField(ctx, index.of, index.field, index.values); err != nil {
			return fmt.Errorf("indexing %T by %s: %w", index.of, index.field, err)
		}
	}
	return nil
}
