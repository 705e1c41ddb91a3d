// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"testing"

	"github.com/aws/smithy-go"

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
		{Port: 443, Rules: []stack.Rule{rule("a"), rule("b")}, Certificates: []string{"x", "y"}, Owners: map[string]string{"x": "b", "y": "a"}},
	}}}}
	created := func(port int32) steps.Change { return steps.CreateListener{Listener: stack.Listener{Port: port}} }
	for name, tc := range map[string]struct {
		change steps.Change
		code   string
		want   string
	}{
		"of several":                            {created(80), "TooManyListeners", ""},
		"of one":                                {created(81), "TooManyListeners", "a"},
		"of several, a certificate":             {created(443), "CertificateNotFound", "b"},
		"of several, another fault":             {created(443), "SSLPolicyNotFound", ""},
		"of several, a certificate of another":  {steps.AddCertificate{Certificate: "y"}, "CertificateNotFound", "a"},
		"of several, a certificate of nobody":   {steps.AddCertificate{Certificate: "z"}, "CertificateNotFound", ""},
		"of several, a certificate in exchange": {steps.ModifyListener{To: stack.Listener{Port: 443}}, "UnsupportedCertificate", "b"},
		"of one, in exchange":                   {steps.ModifyListener{To: stack.Listener{Port: 81}}, "InvalidConfigurationRequest", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			failure := apply.Failure{Step: steps.Step{Change: tc.change}, Err: &smithy.GenericAPIError{Code: tc.code}}
			if got := ownerOf(failure, wanted, stack.Stack{}); got != tc.want {
				t.Errorf("owner %q, want %q", got, tc.want)
			}
		})
	}
}
