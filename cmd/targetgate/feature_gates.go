// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// endpointsFailOpen is the only feature gate of the incumbent that has an effect without --provision: see provisionOptions.featureGate.
const endpointsFailOpen = "EndpointsFailOpen"

func (o *options) parseFeatureGates() (faults []error) {
	o.EndpointsFailOpen = true
	for _, gate := range slices.Sorted(maps.Keys(o.FeatureGates)) {
		value := o.FeatureGates[gate]
		on, err := strconv.ParseBool(value)
		switch {
		case err != nil:
			faults = append(faults, fmt.Errorf("--feature-gates: %s=%s: must be true or false", gate, value))
		case gate == endpointsFailOpen:
			o.EndpointsFailOpen = on
		case !o.Provision.featureGate(gate, on):
			o.ignoredFlags = append(o.ignoredFlags, "feature-gates: "+gate)
		}
	}
	return faults
}
