// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

// Values that mean something to the code.
const (
	internal       = "internal"
	internetFacing = "internet-facing"

	// onlyPublicIPv6 is an address type of load balancers that are internet-facing.
	onlyPublicIPv6 = "dualstack-without-public-ipv4"

	// trafficPort has health checks use the port of the target.
	trafficPort = "traffic-port"

	// noWebACL takes the present web ACL off.
	noWebACL = "none"
)
