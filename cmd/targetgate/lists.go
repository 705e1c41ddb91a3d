// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// trimLists takes the spaces from the items of lists, which people write after commas, and pflag keeps. Empty items go, but for those
// of --watch-namespace: there one would stand for all namespaces, so validateNamespaces refuses it.
func (o *options) trimLists() {
	trim(o.WatchNamespaces)
	for _, list := range []*[]string{&o.Certificates.ClientNames, &o.Provision.Ingress.ExternalTags, &o.Provision.Ingress.AllowedCAs} {
		trim(*list)
		*list = slices.DeleteFunc(*list, func(item string) bool { return item == "" })
	}
}

func trim(items []string) {
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
}

// validateNamespaces returns the faults of --watch-namespace.
func (o *options) validateNamespaces() (faults []error) {
	for _, namespace := range o.WatchNamespaces {
		if len(validation.IsDNS1123Label(namespace)) > 0 {
			faults = append(faults, fmt.Errorf("--watch-namespace=%s: must be names of namespaces, separated by commas: %q is none",
				strings.Join(o.WatchNamespaces, ","), namespace))
		}
	}
	return faults
}
