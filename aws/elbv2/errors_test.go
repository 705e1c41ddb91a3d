// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"testing"

	"github.com/aws/smithy-go"

	"github.com/targetgate/targetgate/aws/awserr"
)

func TestErrorsOfTargetGroupsAreToldApart(t *testing.T) {
	type kinds struct{ notFound, groupFull, rejected bool }
	answer := func(code string) error {
		return callError("registering targets in", testARN, &smithy.GenericAPIError{Code: code})
	}
	tests := map[string]struct {
		err  error
		want kinds
	}{
		"no such group":         {answer("TargetGroupNotFound"), kinds{notFound: true}},
		"group full":            {answer("TooManyTargets"), kinds{groupFull: true}},
		"target in many groups": {answer("TooManyRegistrationsForTargetId"), kinds{rejected: true}},
		"bad target":            {answer("InvalidTarget"), kinds{rejected: true}},
		"bad parameter":         {answer("ValidationError"), kinds{rejected: true}},
		"bad role":              {&awserr.RoleError{ARN: "arn", Err: answer("ValidationError")}, kinds{}},
		"IAM":                   {answer("AccessDenied"), kinds{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := kinds{IsTargetGroupNotFound(tc.err), IsGroupFull(tc.err), IsRejected(tc.err)}
			if got != tc.want {
				t.Errorf("%v is %+v, want %+v", tc.err, got, tc.want)
			}
		})
	}
}
