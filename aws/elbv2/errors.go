// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/aws/awserr"
)

// codeGroupNotFound is the SDK's own name of the code.
var codeGroupNotFound = (*types.TargetGroupNotFoundException)(nil).ErrorCode()

// IsTargetGroupNotFound reports whether the target group does not exist.
func IsTargetGroupNotFound(err error) bool {
	return awserr.HasCode(err, codeGroupNotFound)
}

// IsGroupFull reports whether AWS refused a registration because the target group, or its load balancer, holds as many
// targets as it may: fewer targets may still fit.
func IsGroupFull(err error) bool {
	return awserr.HasCode(err, awserr.CodeTooManyTargets)
}

// IsRejected reports whether AWS refused the targets of the call and not the call itself, so that fewer or other
// targets may pass. A role that cannot be assumed is the fault of no target.
func IsRejected(err error) bool {
	return awserr.HasCode(err, awserr.CodeValidation, awserr.CodeInvalidTarget, awserr.CodeTooManyRegistrations) && !awserr.IsRoleError(err)
}
