// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"fmt"
)

// Error is a refusal with the error code that AWS would answer.
type Error struct {
	Code    string
	Message string
}

// Error gives code and message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Refuse makes an Error.
func Refuse(code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid is a ValidationError.
func Invalid(format string, args ...any) error { return Refuse("ValidationError", format, args...) }

// Unfit is the ValidationError for a parameter whose value breaks a constraint of the API's model.
func Unfit(name string, value any, constraint string) error {
	return Invalid("1 validation error detected: Value '%v' at '%s' failed to satisfy constraint: Member must %s", value, name, constraint)
}

func groupNotFound() error {
	return Refuse("TargetGroupNotFound", "One or more target groups not found")
}

func loadBalancerNotFound() error {
	return Refuse("LoadBalancerNotFound", "One or more load balancers not found")
}

func listenerNotFound() error {
	return Refuse("ListenerNotFound", "One or more listeners not found")
}

// IsCode reports whether err is a refusal with the given code.
func IsCode(err error, code string) bool {
	var refusal *Error
	return errors.As(err, &refusal) && refusal.Code == code
}
