// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"net/http"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

// asError is the code and message to send for any error.
func asError(err error) *refusal.Error {
	var refused *refusal.Error
	if errors.As(err, &refused) {
		return refused
	}
	return &refusal.Error{Code: "InternalFailure", Message: err.Error()}
}

// statusOf is the HTTP status that AWS sends with an error code.
func statusOf(code string) int {
	switch code {
	case "AccessDenied", "UnauthorizedOperation", "ExpiredToken", "InvalidClientTokenId", "MissingAuthenticationToken",
		"SignatureDoesNotMatch", "UnrecognizedClientException":
		return http.StatusForbidden
	case "InternalFailure", "InternalError":
		return http.StatusInternalServerError
	case "ServiceUnavailable", "RequestLimitExceeded":
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}
