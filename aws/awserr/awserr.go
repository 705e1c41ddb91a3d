// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package awserr

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
)

// Codes of AWS that several packages tell apart.
const (
	CodeValidation    = "ValidationError"
	CodeInvalidTarget = "InvalidTarget"

	// CodeTooManyTargets: the target group, or its load balancer, holds as many targets as it may.
	CodeTooManyTargets = "TooManyTargets"
	// CodeTooManyRegistrations: the target is registered as often as it may be.
	CodeTooManyRegistrations = "TooManyRegistrationsForTargetId"
	// CodeTooManyInboundRules: the security group has as many rules as it may.
	CodeTooManyInboundRules = "RulesPerSecurityGroupLimitExceeded"
)

// quotas names what a user asks AWS to raise, as AWS's own text does not.
var quotas = map[string]string{
	CodeTooManyTargets:       "targets per target group, or per load balancer",
	CodeTooManyRegistrations: "registrations of one target per load balancer",
	CodeTooManyInboundRules:  "inbound rules per security group, IPv4 and IPv6 counted apart",

	"TooManyLoadBalancers":                     "load balancers of this type per Region",
	"TooManyTargetGroups":                      "target groups per Region",
	"TooManyListeners":                         "listeners per load balancer",
	"TooManyRules":                             "rules per load balancer, default rules not counted",
	"TooManyCertificates":                      "certificates per load balancer, default certificates not counted",
	"TooManyUniqueTargetGroupsPerLoadBalancer": "target groups per load balancer",
	"SecurityGroupLimitExceeded":               "security groups per Region",
	"SecurityGroupsPerInterfaceLimitExceeded":  "security groups per network interface",
}

// IsThrottled reports whether AWS refused the call because of its rate. The wire says Throttling, the documentation
// ThrottlingException, EC2 RequestLimitExceeded or, rarely, EC2ThrottledException.
func IsThrottled(err error) bool {
	return HasCode(err, "Throttling", "ThrottlingException", "RequestLimitExceeded", "EC2ThrottledException")
}

// IsPermission reports whether AWS refused the call because of who we are: IAM or a role's trust policy says no, or the
// credentials are unknown or too old. EC2 has codes of its own for each.
func IsPermission(err error) bool {
	return IsDenied(err) || HasCode(err, "ExpiredToken", "InvalidClientTokenId", "RequestExpired", "AuthFailure")
}

// IsDenied reports whether a policy does not allow the call: one of IAM, of the organization or of what the call is about. It may be denied
// for a tag or a resource that it names, while others are allowed.
func IsDenied(err error) bool {
	return HasCode(err, "AccessDenied", "AccessDeniedException", "UnauthorizedOperation")
}

// IsQuota reports whether AWS refused the call because a quota would be exceeded.
func IsQuota(err error) bool {
	return HasCode(err, slices.Collect(maps.Keys(quotas))...)
}

// IsNameTaken reports whether AWS did not make something because there is another one with its name, its port or its priority.
func IsNameTaken(err error) bool {
	return HasCode(err,
		"DuplicateLoadBalancerName", "DuplicateTargetGroupName", "DuplicateListener", "PriorityInUse", "InvalidGroup.Duplicate")
}

// IsGone reports whether AWS says that what a call is about does not exist.
func IsGone(err error) bool {
	return HasCode(err, "LoadBalancerNotFound", "ListenerNotFound", "RuleNotFound", "TargetGroupNotFound", "ResourceNotFound",
		"InvalidGroup.NotFound")
}

// IsInUse reports whether AWS did not delete something because something else uses it.
func IsInUse(err error) bool { return HasCode(err, "ResourceInUse", "DependencyViolation") }

// IsProtected reports whether AWS does not do what a call asks for to what it is about: to delete a load balancer that is protected from
// that, or a default rule.
func IsProtected(err error) bool { return HasCode(err, "OperationNotPermitted") }

// IsInvalid reports whether AWS refused the call because of its parameters: trying the same again is of no use.
func IsInvalid(err error) bool {
	return HasCode(err, CodeValidation, CodeInvalidTarget, "InvalidParameterValue", "InvalidParameterCombination", "MissingParameter")
}

// IsRoleRefused reports whether AWS does not let us assume the role that the call was for: there is no such role, its trust
// policy names others, its external ID is another one, or ARN or external ID are none.
func IsRoleRefused(err error) bool {
	return IsRoleError(err) && HasCode(err, "AccessDenied", CodeValidation)
}

// serverFaults are AWS's codes for its own faults: such a call may have had its effect.
var serverFaults = []string{
	"InternalFailure", "InternalError", "InternalServerError", "ServiceUnavailable", "Unavailable", "UnknownError",
}

// IsDefinite reports whether AWS has refused the call, and will refuse it again until somebody changes something: not because
// of its rate, not for a fault of its own, and not because it did not answer.
func IsDefinite(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorFault() == smithy.FaultServer || slices.Contains(serverFaults, api.ErrorCode()) {
		return false
	}
	return retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) != aws.TrueTernary
}

// HadNoEffect reports whether it is certain that a failed call has changed nothing: AWS has refused it, or it was not made, as
// its role could not be assumed.
func HadNoEffect(err error) bool {
	return IsRoleError(err) || IsThrottled(err) || IsDefinite(err)
}

// Message is "code: text" of an AWS error, without the request ID and EC2's encoded message, which make every error different,
// so that it can be compared and shown in a status. It names the quota that was exceeded and the role that was not assumed. Of
// the network's errors it leaves out the addresses, whose ports are others every time. Other errors keep their text.
func Message(err error) string {
	var role *RoleError
	if errors.As(err, &role) {
		return role.tell(plainMessage(role.Err))
	}
	return plainMessage(err)
}

// encodedMessage begins what EC2 adds to UnauthorizedOperation for those who may decode it: another text every time.
const encodedMessage = " Encoded authorization failure message:"

func plainMessage(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		text, _, _ := strings.Cut(api.ErrorMessage(), encodedMessage)
		message := fmt.Sprintf("%s: %s", api.ErrorCode(), text)
		if quota, ok := quotas[api.ErrorCode()]; ok {
			message += fmt.Sprintf(" (quota: %s)", quota)
		}
		return message
	}
	if message, ok := networkMessage(err); ok {
		return message
	}
	var response *awshttp.ResponseError
	if errors.As(err, &response) {
		return fmt.Sprintf("AWS has answered with HTTP status %d: %v", response.HTTPStatusCode(), response.Err)
	}
	return err.Error()
}

// networkMessage is what an error of the network's says without addresses: the operation, the name that was looked up, and the
// cause. The text of a failed lookup may be that of another error, such as
// "read udp 10.0.0.1:41234->10.0.0.2:53: read: connection refused".
func networkMessage(err error) (string, bool) {
	var lookup *net.DNSError
	if errors.As(err, &lookup) {
		cause := lookup.Err[strings.LastIndex(lookup.Err, ": ")+1:]
		return fmt.Sprintf("no answer from AWS: lookup %s: %s", lookup.Name, strings.TrimSpace(cause)), true
	}
	var network *net.OpError
	if !errors.As(err, &network) {
		return "", false
	}
	for inner := network; errors.As(inner.Err, &inner); {
		network = inner // of a proxy, the way to it
	}
	return fmt.Sprintf("no answer from AWS: %s %s: %v", network.Op, network.Net, network.Err), true
}

// HasCode reports whether AWS answered with one of these codes.
func HasCode(err error, codes ...string) bool {
	var api smithy.APIError
	return errors.As(err, &api) && slices.Contains(codes, api.ErrorCode())
}
