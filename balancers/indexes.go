// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
)

// The fields by which Ingresses are found, so that no pass and no event looks through all of them.
const (
	// groupField has the groups that an Ingress may belong to, as far as it says so itself, and those whose finalizers it has.
	groupField = "group"
	// serviceField has the names of the Services that an Ingress sends requests to; they are in its namespace.
	serviceField = "service"
)

// Indexes have the values of each field.
var Indexes = map[string]func(*networkingv1.Ingress) []string{
	groupField: func(i *networkingv1.Ingress) []string {
		name := types.NamespacedName{Namespace: i.Namespace, Name: i.Name}
		groups := []string{name.String()}
		if named := i.Annotations[annotation.GroupName.FullName()]; named != "" {
			groups = append(groups, named)
		}
		for _, held := range membership.GroupsHeld(name, i.Finalizers) {
			groups = append(groups, held.String())
		}
		return groups
	},
	serviceField: func(i *networkingv1.Ingress) (names []string) {
		for _, service := range input.ServicesOf(i) {
			names = append(names, service.Name)
		}
		return names
	},
}

func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for field, of := range Indexes {
		values := func(o client.Object) []string { return of(o.(*networkingv1.Ingress)) }
		if err := indexer.IndexField(ctx, &networkingv1.Ingress{}, field, values); err != nil {
			return fmt.Errorf("indexing Ingresses by %s: %w", field, err)
		}
	}
	return nil
}
