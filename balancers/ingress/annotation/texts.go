// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

// Values that mean something to the code.
const (
	Internal       = "internal"
	InternetFacing = "internet-facing"

	// OnlyPublicIPv6 is an address type of load balancers that are internet-facing.
	OnlyPublicIPv6 = "dualstack-without-public-ipv4"

	// TrafficPort has health checks use the port of the target.
	TrafficPort = "traffic-port"

	// NoWebACL takes the present web ACL off.
	NoWebACL = "none"
)
