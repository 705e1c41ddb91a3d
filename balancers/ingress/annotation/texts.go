// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import "github.com/targetgate/targetgate/balancers/stack"

// Values that mean something to the code.
const (
	Internal       = stack.Internal
	InternetFacing = stack.InternetFacing

	// OnlyPublicIPv6 is an address type of load balancers that are internet-facing.
	OnlyPublicIPv6 = "dualstack-without-public-ipv4"

	// TrafficPort has health checks use the port of the target.
	TrafficPort = "traffic-port"

	// NoWebACL takes the present web ACL off.
	NoWebACL = "none"
)
