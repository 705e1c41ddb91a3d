// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package awserr

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// answer is what the SDK makes of an error that AWS answers.
func answer(code, text string) error {
	return fmt.Errorf("registering targets in web: %w", fmt.Errorf("operation error: %w", &smithy.GenericAPIError{Code: code, Message: text}))
}

func TestErrorsAreToldApart(t *testing.T) {
	type kinds struct{ throttled, permission, quota, invalid, roleRefused bool }
	tests := map[string]struct {
		err  error
		want kinds
	}{
		"no such group":         {answer("TargetGroupNotFound", ""), kinds{}},
		"throttled":             {answer("Throttling", "Rate exceeded"), kinds{throttled: true}},
		"IAM":                   {answer("AccessDenied", ""), kinds{permission: true}},
		"old credentials":       {answer("ExpiredToken", ""), kinds{permission: true}},
		"unknown credentials":   {answer("InvalidClientTokenId", ""), kinds{permission: true}},
		"role not assumed":      {fmt.Errorf("x: %w", &RoleError{"arn", "", answer("AccessDenied", "")}), kinds{permission: true, roleRefused: true}},
		"group full":            {answer("TooManyTargets", ""), kinds{quota: true}},
		"target in many groups": {answer("TooManyRegistrationsForTargetId", ""), kinds{quota: true}},
		"bad target":            {answer("InvalidTarget", ""), kinds{invalid: true}},
		"bad parameter":         {answer("ValidationError", ""), kinds{invalid: true}},
		"bad role":              {&RoleError{"arn", "", answer("ValidationError", "")}, kinds{invalid: true, roleRefused: true}},
		"role, throttled":       {&RoleError{"arn", "", answer("Throttling", "")}, kinds{throttled: true}},
		"not AWS's":             {errors.New("connection refused"), kinds{}},
		"EC2, throttled":        {answer("RequestLimitExceeded", ""), kinds{throttled: true}},
		"EC2, throttled early":  {answer("EC2ThrottledException", ""), kinds{throttled: true}},
		"EC2, IAM":              {answer("UnauthorizedOperation", ""), kinds{permission: true}},
		"EC2, old credentials":  {answer("RequestExpired", ""), kinds{permission: true}},
		"EC2, bad credentials":  {answer("AuthFailure", ""), kinds{permission: true}},
		"EC2, too many rules":   {answer("RulesPerSecurityGroupLimitExceeded", ""), kinds{quota: true}},
		"too many rules":        {answer("TooManyRules", ""), kinds{quota: true}},
		"too many groups":       {answer("TooManyTargetGroups", ""), kinds{quota: true}},
		"EC2, too many groups":  {answer("SecurityGroupLimitExceeded", ""), kinds{quota: true}},
		"EC2, bad parameter":    {answer("InvalidParameterValue", ""), kinds{invalid: true}},
		"EC2, bad combination":  {answer("InvalidParameterCombination", ""), kinds{invalid: true}},
		"EC2, no parameter":     {answer("MissingParameter", ""), kinds{invalid: true}},
		"EC2, no such group":    {answer("InvalidGroup.NotFound", ""), kinds{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := kinds{
				throttled: IsThrottled(tc.err), permission: IsPermission(tc.err), quota: IsQuota(tc.err), invalid: IsInvalid(tc.err),
				roleRefused: IsRoleRefused(tc.err),
			}
			if got != tc.want {
				t.Errorf("%v is %+v, want %+v", tc.err, got, tc.want)
			}
		})
	}
}

// After a definite refusal nothing has changed, and nothing will by trying again.
func TestRefusalsAreToldFromFaults(t *testing.T) {
	type kinds struct{ definite, hadNoEffect bool }
	refused := kinds{definite: true, hadNoEffect: true}
	tests := map[string]struct {
		codes []string
		want  kinds
	}{
		"refused": {
			codes: []string{
				"TargetGroupNotFound", "InvalidTarget", "InvalidGroup.NotFound", "InvalidGroupId.Malformed", "InvalidPermission.Duplicate",
				"InvalidPermission.NotFound", "RulesPerSecurityGroupLimitExceeded", "InvalidParameterValue", "UnauthorizedOperation", "AuthFailure",
				"InvalidInstanceID.NotFound", "InvalidNetworkInterfaceID.NotFound",
			},
			want: refused,
		},
		"throttled": {
			codes: []string{"Throttling", "RequestLimitExceeded", "EC2ThrottledException"},
			want:  kinds{hadNoEffect: true},
		},
		"AWS's fault": {codes: []string{"InternalError", "InternalFailure", "ServiceUnavailable", "Unavailable"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, code := range tc.codes {
				err := answer(code, "")
				if got := (kinds{IsDefinite(err), HadNoEffect(err)}); got != tc.want {
					t.Errorf("%s is %+v, want %+v", code, got, tc.want)
				}
			}
		})
	}
}

func TestMessageSaysWhatAUserNeeds(t *testing.T) {
	tests := map[string]struct {
		err  error
		want string
	}{
		"code and text":    {answer("InvalidTarget", "no such instance"), "InvalidTarget: no such instance"},
		"quota of a group": {answer("TooManyTargets", "full"), "TooManyTargets: full (quota: targets per target group, or per load balancer)"},
		"rules of a load balancer": {answer("TooManyRules", "full"),
			"TooManyRules: full (quota: rules per load balancer, default rules not counted)"},
		"rules of a group": {answer("RulesPerSecurityGroupLimitExceeded", "full"),
			"RulesPerSecurityGroupLimitExceeded: full (quota: inbound rules per security group, IPv4 and IPv6 counted apart)"},
		"encoded message": {
			answer("UnauthorizedOperation", "You are not authorized to perform this operation. Encoded authorization failure message: mJ_6Nv"),
			"UnauthorizedOperation: You are not authorized to perform this operation.",
		},
		"other than AWS's": {errors.New("connection refused"), "connection refused"},
		"role not assumed": {&RoleError{"arn:role", "", answer("AccessDenied", "no")}, "assuming role arn:role: AccessDenied: no"},
		"external ID": {
			&RoleError{"arn:role", "hand shake", answer("ValidationError", "Value 'hand shake' at 'externalId' failed")},
			"assuming role arn:role: ValidationError: Value '(external ID)' at 'externalId' failed",
		},
		"external ID, no answer": {
			&RoleError{"arn:role", "hand shake", errors.New("cannot send 'hand shake'")},
			"assuming role arn:role: cannot send '(external ID)'",
		},
		"name server that refuses": {
			&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{
				Err: "read udp 10.0.1.5:41234->172.20.0.10:53: read: connection refused", Name: "elb.aws", Server: "172.20.0.10:53",
			}}, "no answer from AWS: lookup elb.aws: connection refused",
		},
		"no such name": {&net.DNSError{Err: "no such host", Name: "elb.aws"}, "no answer from AWS: lookup elb.aws: no such host"},
		"proxy that refuses": {
			&net.OpError{Op: "proxyconnect", Net: "tcp", Err: &net.OpError{
				Op: "read", Net: "tcp", Source: &net.TCPAddr{Port: 41234}, Err: errors.New("reset"),
			}}, "no answer from AWS: read tcp: reset",
		},
		"role, name server that refuses": {
			&RoleError{"arn:role", "", &net.DNSError{Err: "read udp 10.0.1.5:41234->172.20.0.10:53: i/o timeout", Name: "sts.aws"}},
			"assuming role arn:role: no answer from AWS: lookup sts.aws: i/o timeout",
		},
		"request ID without a code": {
			&awshttp.ResponseError{RequestID: "abc", ResponseError: &smithyhttp.ResponseError{
				Response: &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusBadGateway}}, Err: errors.New("no XML"),
			}}, "AWS has answered with HTTP status 502: no XML",
		},
		"quota of a target": {answer("TooManyRegistrationsForTargetId", "x"),
			"TooManyRegistrationsForTargetId: x (quota: registrations of one target per load balancer)"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Message(tc.err); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestWhatIsGoneInUseOrTaken(t *testing.T) {
	for code, is := range map[string]func(error) bool{
		"LoadBalancerNotFound": IsGone, "ResourceNotFound": IsGone, "InvalidGroup.NotFound": IsGone, "ResourceInUse": IsInUse,
		"DependencyViolation": IsInUse, "PriorityInUse": IsNameTaken, "InvalidGroup.Duplicate": IsNameTaken, "OperationNotPermitted": IsProtected,
	} {
		if !is(answer(code, "")) || is(answer("ValidationError", "")) {
			t.Errorf("%s is not told from ValidationError", code)
		}
	}
}
