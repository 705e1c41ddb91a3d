// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"errors"
	"testing"

	"github.com/aws/smithy-go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// What AWS refuses is one member's, where one alone wants it.
func TestOwnersOfListeners(t *testing.T) {
	rule := func(owner string) stack.Rule { return stack.Rule{Owner: owner} }
	wanted := stack.Stack{LoadBalancers: []stack.LoadBalancer{{Listeners: []stack.Listener{
		{Port: 80, Rules: []stack.Rule{rule("a"), rule("b")}},
		{Port: 81, Rules: []stack.Rule{rule("a"), rule("a")}},
		{Port: 443, Rules: []stack.Rule{rule("a"), rule("b")}, Certificates: []string{"x", "y"}, Owners: map[string]string{"x": "b", "y": "a"},
			DefaultOwner: "b"},
	}}}, Voters: map[string]string{
		"ssl-policy 443": "a", "mutual-authentication 443": "b", "security-groups": "b", "inbound-cidrs 80": "a", "frontend-nlb-security-groups": "a",
		"security-group-prefix-lists 80": "b",
	}}
	created := func(port int32) steps.Change { return steps.CreateListener{Listener: stack.Listener{Port: port}} }
	authorized := func(sources ...string) (change steps.Authorize) {
		for _, source := range sources {
			change.Rules = append(change.Rules, stack.Inbound{From: 80, To: 80, Source: source})
		}
		return change
	}
	for name, tc := range map[string]struct {
		change steps.Change
		code   string
		want   string
	}{
		"of several":                            {created(80), "TooManyListeners", ""},
		"of one":                                {created(81), "TooManyListeners", "a"},
		"of several, a certificate":             {created(443), "CertificateNotFound", "b"},
		"of several, another fault":             {created(443), "InvalidConfigurationRequest", ""},
		"of several, a policy":                  {created(443), "SSLPolicyNotFound", "a"},
		"of several, a policy of nobody":        {created(80), "SSLPolicyNotFound", ""},
		"of several, a trust store":             {created(443), "TrustStoreNotFound", "b"},
		"of several, a default backend":         {steps.ModifyListener{To: stack.Listener{Port: 443}}, "TargetGroupNotFound", "b"},
		"security groups":                       {steps.SetSecurityGroups{}, "InvalidConfigurationRequest", "b"},
		"security groups of a new one":          {steps.CreateLoadBalancer{}, "InvalidSecurityGroup", "b"},
		"security groups of one in front":       {steps.SetSecurityGroups{LoadBalancer: stack.Ref{Part: stack.FrontPart}}, "InvalidSecurityGroup", "a"},
		"another fault of a new one":            {steps.CreateLoadBalancer{}, "TooManyLoadBalancers", ""},
		"sources of one":                        {authorized("10.0.0.0/8", "10.0.0.0/9"), "RulesPerSecurityGroupLimitExceeded", "a"},
		"sources of several":                    {authorized("10.0.0.0/8", "pl-1"), "RulesPerSecurityGroupLimitExceeded", ""},
		"the source that AWS names":             {authorized("10.0.0.0/8", "pl-1"), "InvalidPrefixListID.NotFound", "b"},
		"of several, a certificate of another":  {steps.AddCertificate{Certificate: "y"}, "CertificateNotFound", "a"},
		"of several, a certificate of nobody":   {steps.AddCertificate{Certificate: "z"}, "CertificateNotFound", ""},
		"of several, a certificate in exchange": {steps.ModifyListener{To: stack.Listener{Port: 443}}, "UnsupportedCertificate", "b"},
		"of one, in exchange":                   {steps.ModifyListener{To: stack.Listener{Port: 81}}, "InvalidConfigurationRequest", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			failure := apply.Failure{Step: steps.Step{Change: tc.change}, Err: &smithy.GenericAPIError{Code: tc.code}}
			if tc.code == "InvalidPrefixListID.NotFound" {
				failure.Err = &smithy.GenericAPIError{Code: tc.code, Message: "The prefix list ID 'pl-1' does not exist"}
			}
			if got := ownerOf(failure, wanted, stack.Stack{}); got != tc.want {
				t.Errorf("owner %q, want %q", got, tc.want)
			}
		})
	}
}

// Others of the group go on without a member that is held.
func TestWhoIsHeld(t *testing.T) {
	ours, foreign := stack.Ref{ID: "arn-ours"}, stack.Ref{ID: "arn-foreign"}
	rule := func(to stack.Ref) steps.Change {
		return steps.CreateRule{Rule: stack.Rule{Action: stack.Action{Forward: &stack.Forward{Groups: []stack.Weighted{{Group: to}}}}}}
	}
	seen := stack.Stack{TargetGroups: []stack.TargetGroup{{ARN: ours.ID}}}
	for name, tc := range map[string]struct {
		change steps.Change
		err    error
		want   bool
	}{
		"who asks for what AWS refuses":                {rule(ours), &smithy.GenericAPIError{Code: "InvalidLoadBalancerAction"}, true},
		"who names a target group that is not there":   {rule(foreign), &smithy.GenericAPIError{Code: "TargetGroupNotFound"}, true},
		"who names a target group that we may not use": {rule(foreign), &smithy.GenericAPIError{Code: "AccessDenied", Message: "not authorized: " + foreign.ID}, true},
		"nobody for a rule that we may not make":       {rule(foreign), &smithy.GenericAPIError{Code: "AccessDenied", Message: "not authorized: rule"}, false},
		"whose target group somebody has deleted":      {rule(ours), &smithy.GenericAPIError{Code: "TargetGroupNotFound"}, false},
		"nobody for what we may not do":                {rule(ours), &smithy.GenericAPIError{Code: "AccessDenied"}, false},
		"whose binding is refused":                     {steps.UpdateBinding{}, apierrors.NewForbidden(ingresses, "a", errors.New("quota")), true},
		"whose binding is wrong":                       {steps.CreateBinding{}, apierrors.NewInvalid(schema.GroupKind{}, "a", nil), true},
		"nobody for a binding that somebody changed":   {steps.UpdateBinding{}, apierrors.NewConflict(ingresses, "a", errors.New("changed")), false},
		"nobody for an API server that does not work":  {steps.UpdateBinding{}, apierrors.NewInternalError(errors.New("down")), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isHoldable(apply.Failure{Step: steps.Step{Change: tc.change}, Err: tc.err}, seen); got != tc.want {
				t.Errorf("held: %v, want %v", got, tc.want)
			}
		})
	}
}
