// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import "strings"

// What AWS takes: so many tags of each thing, with keys and values of so many characters; so many security groups of a load balancer, as it
// raises the quota of a network interface to no more
// (https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html).
const (
	MostTags           = 50
	LongestTagKey      = 128
	LongestTagValue    = 256
	MostSecurityGroups = 16
)

// The schemes of load balancers.
const (
	Internal       = "internal"
	InternetFacing = "internet-facing"
)

// IsDualstack reports whether a load balancer of that address type has IPv6 addresses.
func IsDualstack(addressType string) bool { return strings.HasPrefix(addressType, "dualstack") }
