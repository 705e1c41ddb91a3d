// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import "github.com/targetgate/targetgate/aws/awserr"

// groupNotFound are the codes for security groups that do not exist, or cannot.
var groupNotFound = []string{
	"InvalidGroup.NotFound", "InvalidGroupId.Malformed", "InvalidSecurityGroupID.NotFound", "InvalidSecurityGroupID.Malformed",
}

// IsGroupNotFound reports whether a security group that a call is about does not exist. Of Authorize and Revoke it may be the group that
// is changed, or one that is a source; EC2 says the same of a source in another VPC without peering.
func IsGroupNotFound(err error) bool { return awserr.HasCode(err, groupNotFound...) }

// IsDuplicate reports whether EC2 refused to add rules because one of them is there already.
func IsDuplicate(err error) bool { return awserr.HasCode(err, "InvalidPermission.Duplicate") }

// IsRuleNotFound reports whether EC2 refused to remove rules because one of them is not there.
func IsRuleNotFound(err error) bool { return awserr.HasCode(err, "InvalidPermission.NotFound") }

// IsRuleLimit reports whether EC2 refused to add rules because the security group would have too many.
func IsRuleLimit(err error) bool { return awserr.HasCode(err, awserr.CodeTooManyInboundRules) }
