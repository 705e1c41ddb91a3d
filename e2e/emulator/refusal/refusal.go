// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package refusal is what AWS answers to a call that it refuses: a code and a message.
package refusal

import (
	"errors"
	"fmt"
	"slices"
)

// Error is a refusal.
type Error struct {
	Code    string
	Message string
}

// Error gives code and message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// New makes an Error.
func New(code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid is a ValidationError.
func Invalid(format string, args ...any) error { return New("ValidationError", format, args...) }

// Unfit is the ValidationError for a parameter whose value breaks a constraint of the API's model.
func Unfit(name string, value any, constraint string) error {
	return Invalid("1 validation error detected: Value '%v' at '%s' failed to satisfy constraint: Member must %s", value, name, constraint)
}

// OneOf is Unfit unless the value is allowed.
func OneOf(name, value string, allowed []string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return Unfit(name, value, fmt.Sprintf("satisfy enum value set: %v", allowed))
}

// Within is Unfit unless the value is from least to most.
func Within(name string, value, least, most int) error {
	switch {
	case value < least:
		return Unfit(name, value, fmt.Sprintf("have value greater than or equal to %d", least))
	case value > most:
		return Unfit(name, value, fmt.Sprintf("have value less than or equal to %d", most))
	}
	return nil
}

// Is reports whether err is a refusal with the given code.
func Is(err error, code string) bool {
	var refusal *Error
	return errors.As(err, &refusal) && refusal.Code == code
}
