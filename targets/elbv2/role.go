// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

const (
	// sessionName is who we are in the other account's CloudTrail. It does not change, so that a trust policy can ask for it.
	sessionName = "targetgate"

	// expiryWindow is how long before they expire credentials are replaced, less up to expiryJitter of it so that the
	// roles that were assumed together are not always assumed together.
	expiryWindow = time.Minute
	expiryJitter = 0.5

	// shortestExternalID is the length of the shortest external ID that STS takes.
	shortestExternalID = 2

	// assumeRetries is how often AssumeRole is tried again. It is few, as the callers come again and wait meanwhile.
	assumeRetries = 2
)

// Role is an IAM role in another account; the zero value is the program's own identity.
type Role struct {
	ARN        string
	ExternalID string
}

// account is the fifth part of the role's ARN, empty when there is none.
func (r Role) account() string {
	if parsed, err := arn.Parse(r.ARN); err == nil {
		return parsed.AccountID
	}
	return ""
}

// credentials are the role's, cached and replaced before they expire; the program's own for the zero role.
func (a *Accounts) credentials(role Role) aws.CredentialsProvider {
	if role.ARN == "" {
		return a.config.Credentials
	}
	provider := stscreds.NewAssumeRoleProvider(a.sts(), role.ARN, func(o *stscreds.AssumeRoleOptions) {
		o.RoleSessionName = sessionName
		if role.ExternalID != "" {
			o.ExternalID = &role.ExternalID
		}
	})
	return aws.NewCredentialsCache(&assumedRole{role: role, provider: provider}, func(o *aws.CredentialsCacheOptions) {
		o.ExpiryWindow, o.ExpiryWindowJitterFrac = expiryWindow, expiryJitter
	})
}

// sts has the metrics of all our calls, and no budget: its calls are counted elsewhere, and there are few.
func (a *Accounts) sts() *sts.Client {
	return sts.NewFromConfig(a.config, func(o *sts.Options) {
		o.BaseEndpoint = endpoint(a.settings.Endpoints, "STS")
		o.Retryer = newRetryer(assumeRetries)
		o.APIOptions = append(o.APIOptions, addMetrics)
	})
}

// assumedRole names the role in the errors of its provider.
type assumedRole struct {
	role     Role
	provider aws.CredentialsProvider
}

// Retrieve assumes the role.
func (r *assumedRole) Retrieve(ctx context.Context) (aws.Credentials, error) {
	credentials, err := r.provider.Retrieve(ctx)
	if err != nil {
		return aws.Credentials{}, &roleError{role: r.role, err: err}
	}
	return credentials, nil
}

// roleError is a failure to assume a role: the call it was for has not been made.
type roleError struct {
	role Role
	err  error
}

// Error is the path from the role to the cause.
func (e *roleError) Error() string { return e.tell(e.err.Error()) }

// tell says what was being done when the text came, without the external ID: STS repeats one that it finds malformed, and
// it is not for everybody who reads a status or a log.
func (e *roleError) tell(text string) string {
	if len(e.role.ExternalID) >= shortestExternalID {
		text = strings.ReplaceAll(text, e.role.ExternalID, "(external ID)")
	}
	return fmt.Sprintf("assuming role %s: %s", e.role.ARN, text)
}

// Unwrap is the cause.
func (e *roleError) Unwrap() error { return e.err }

func isRoleError(err error) bool {
	var role *roleError
	return errors.As(err, &role)
}
