// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package awserr

import (
	"errors"
	"fmt"
	"strings"
)

// shortestExternalID is the length of the shortest external ID that STS takes.
const shortestExternalID = 2

// RoleError is a failure to assume a role: the call it was for has not been made.
type RoleError struct {
	ARN        string
	ExternalID string
	Err        error
}

// Error is the path from the role to the cause.
func (e *RoleError) Error() string { return e.tell(e.Err.Error()) }

// tell says what was being done when the text came, without the external ID: STS repeats one that it finds malformed, and
// it is not for everybody who reads a status or a log.
func (e *RoleError) tell(text string) string {
	if len(e.ExternalID) >= shortestExternalID {
		text = strings.ReplaceAll(text, e.ExternalID, "(external ID)")
	}
	return fmt.Sprintf("assuming role %s: %s", e.ARN, text)
}

// Unwrap is the cause.
func (e *RoleError) Unwrap() error { return e.Err }

// IsRoleError reports whether a role could not be assumed.
func IsRoleError(err error) bool {
	var role *RoleError
	return errors.As(err, &role)
}
