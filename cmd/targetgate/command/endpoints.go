// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/aws/budget"
)

// services are the SDK IDs of the AWS services we call.
var services = []string{budget.ACM, budget.EC2, budget.ELBv2, budget.Route53, budget.Shield, budget.STS, budget.WAFClassic, budget.WAFv2}

// ValidateEndpoints returns all faults, and the services we do not call.
func ValidateEndpoints(endpoints map[string]string) (faults []error, unknown []string) {
	for _, service := range slices.Sorted(maps.Keys(endpoints)) {
		base := endpoints[service]
		parsed, err := url.Parse(base)
		switch {
		case err != nil || !strings.HasPrefix(parsed.Scheme, "http") || parsed.Host == "":
			faults = append(faults, fmt.Errorf("--aws-api-endpoints: %s=%s: must be a URL such as https://host", service, base))
		case !slices.Contains(services, service):
			unknown = append(unknown, service)
		}
	}
	return faults, unknown
}
