// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

// Needs is what has to be looked up in AWS before a stack can be built.
type Needs struct {
	// SecurityGroups are Name tags of security groups; the others are names of what they say.
	SecurityGroups, TargetGroups, TrustStores, WebACLs []string
	// Owned are ARNs of target groups whose owner must have consented to their use. Owners says that this is so of those of TargetGroups, too.
	Owned  []string
	Owners bool
	// ClassicACLs are IDs of web ACLs of AWS WAF Classic.
	ClassicACLs []string
	// Hosts are those whose certificates are looked for in ACM.
	Hosts []string
	// Own says that the certificates are needed that ACM was asked for on behalf of the group.
	Own bool
	// Shield says that it is to be known whether AWS Shield Advanced can protect load balancers.
	Shield bool
	// Subnets says that the subnets of the VPC are needed.
	Subnets bool
}
