// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
)

// SecretsOf are the Secrets that a group needs, each once, sorted. Of its Input Members, Services and Options count.
func SecretsOf(in Input) (keys []types.NamespacedName) {
	for _, member := range in.Members {
		ingress := member.Ingress
		if member.Over != nil {
			continue
		}
		sources := []map[string]string{ingress.Annotations}
		for _, key := range servicesOf(ingress, in.Options.Sizes().MostPaths()) {
			if service := in.Services[key]; service != nil {
				sources = append(sources, service.Annotations)
			}
		}
		isOIDC := func(annotations map[string]string) bool {
			return annotations[annotation.AuthType.FullName()] == annotation.OIDCAuth
		}
		if !slices.ContainsFunc(sources, isOIDC) {
			continue
		}
		for _, annotations := range sources {
			if oidc, set, _ := annotation.AuthOIDC.In(annotations); set { // a wrong one asks for nothing
				keys = append(keys, types.NamespacedName{Namespace: ingress.Namespace, Name: oidc.SecretName})
			}
		}
	}
	slices.SortFunc(keys, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(keys)
}
