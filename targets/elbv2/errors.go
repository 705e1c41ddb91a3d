// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
)

// IsTargetGroupNotFound reports whether the target group does not exist.
func IsTargetGroupNotFound(err error) bool {
	return hasCode(err, (*types.TargetGroupNotFoundException)(nil).ErrorCode())
}

// IsThrottled reports whether AWS refused the call because of its rate. The wire says Throttling, the documentation
// ThrottlingException, other services RequestLimitExceeded.
func IsThrottled(err error) bool {
	return hasCode(err, "Throttling", "ThrottlingException", "RequestLimitExceeded")
}

// IsPermission reports whether AWS refused the call because of IAM.
func IsPermission(err error) bool {
	return hasCode(err, "AccessDenied", "AccessDeniedException", "UnauthorizedOperation")
}

// IsQuota reports whether AWS refused the call because a quota would be exceeded.
func IsQuota(err error) bool {
	return hasCode(err, (*types.TooManyTargetsException)(nil).ErrorCode(), (*types.TooManyRegistrationsForTargetIdException)(nil).ErrorCode())
}

// IsInvalid reports whether AWS refused the call because of its parameters: trying the same again is of no use.
func IsInvalid(err error) bool {
	return hasCode(err, "ValidationError", (*types.InvalidTargetException)(nil).ErrorCode())
}

// Message is "code: text" of an AWS error, without the request ID that makes every error different, so that it can be
// compared and shown in a status. Other errors keep their text.
func Message(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return fmt.Sprintf("%s: %s", api.ErrorCode(), api.ErrorMessage())
	}
	return err.Error()
}

func hasCode(err error, codes ...string) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	for _, code := range codes {
		if api.ErrorCode() == code {
			return true
		}
	}
	return false
}
