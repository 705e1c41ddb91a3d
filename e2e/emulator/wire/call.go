// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// Call is one line of the call log, written when the call was answered.
type Call struct {
	Received, Answered time.Time
	RequestID          string
	Operation          string
	// TargetGroup is the ARN the call was about, "" if none or several; Targets are those of the request.
	TargetGroup string
	Targets     []state.Key
	// SecurityGroups are the ids that the call names, also in its filters; Rules are those to add or to remove.
	SecurityGroups []string
	Rules          []ec2.Rule
	// Principal is the caller's access key, or the ARN of the role it stands for.
	Principal string
	// Status is the HTTP status, 0 when the connection was dropped instead; Code is the error code, if any.
	Status    int
	Code      string
	Throttled bool
	// Unauthorized says that the principal's policies do not allow the call, on that resource.
	Unauthorized bool
	Resource     string
}
