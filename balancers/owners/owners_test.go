// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package owners

import (
	"testing"

	"github.com/aws/smithy-go"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// What AWS refuses is one member's, where one alone wants it.
func TestOwners(t *testing.T) {
	rule := func(owner string) stack.Rule { return stack.Rule{Owner: owner} }
	wanted := stack.Stack{LoadBalancers: []stack.LoadBalancer{{Listeners: []stack.Listener{
		{Port: 80, Rules: []stack.Rule{rule("a"), rule("b")}},
		{Port: 81, Rules: []stack.Rule{rule("a"), rule("a")}},
		{Port: 443, Protocol: "HTTPS", Rules: []stack.Rule{rule("a"), rule("b")}, Certificates: []string{"x", "y"}, Owners: map[string]string{"x": "b", "y": "a"},
			DefaultOwner: "b"},
	}}}, Voters: map[string]string{
		"ssl-policy 443": "a", "mutual-authentication 443": "b", "security-groups": "b", "inbound-cidrs 80": "a", "frontend-nlb-security-groups": "a",
		"security-group-prefix-lists 80": "b", "load-balancer-attributes[access_logs.s3.bucket]": "b", "load-balancer-attributes[idle_timeout]": "a",
		"frontend-nlb-attributes[idle_timeout]": "a", "listener-attributes.HTTPS-443[idle_timeout]": "b", "subnets": "a", "frontend-nlb-eip-allocations": "b", "minimum-load-balancer-capacity": "b",
		"ip-address-type": "a", "ipam-ipv4-pool-id": "b", "wafv2-acl-arn": "a", "waf-acl-id": "b", "shield-advanced-protection": "a",
	}}
	attributes, front := map[string]string{"access_logs.s3.bucket": "x", "idle_timeout": "5"}, stack.Ref{Part: stack.FrontPart}
	seen := stack.Stack{LoadBalancers: []stack.LoadBalancer{{Listeners: []stack.Listener{{ARN: "l443", Port: 443}}}}}
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
		"attributes":                            {steps.SetLoadBalancerAttributes{Attributes: attributes}, "access_logs.s3.bucket", "b"},
		"attributes, of another":                {steps.SetLoadBalancerAttributes{Attributes: attributes}, "idle_timeout", "a"},
		"attributes of several":                 {steps.SetLoadBalancerAttributes{Attributes: attributes}, "InvalidConfigurationRequest", ""},
		"attributes of nobody":                  {steps.SetLoadBalancerAttributes{Attributes: map[string]string{"waf": ""}}, "waf", ""},
		"attributes of one in front":            {steps.SetLoadBalancerAttributes{LoadBalancer: front, Attributes: attributes}, "idle_timeout", "a"},
		"attributes of a listener":              {steps.SetListenerAttributes{Listener: stack.Ref{ID: "l443"}, Attributes: attributes}, "idle_timeout", "b"},
		"attributes of a new listener":          {steps.SetListenerAttributes{Listener: stack.Ref{Part: "443"}, Attributes: attributes}, "idle_timeout", "b"},
		"subnets":                               {steps.SetSubnets{}, "InvalidSubnet", "a"},
		"subnets of a new one":                  {steps.CreateLoadBalancer{}, "SubnetNotFound", "a"},
		"subnets of one in front":               {steps.SetSubnets{LoadBalancer: stack.Ref{Part: stack.FrontPart}}, "InvalidSubnet", "b"},
		"an address type":                       {steps.Set{Setting: steps.AddressType}, "InvalidConfigurationRequest", "a"},
		"a pool of addresses":                   {steps.Set{Setting: steps.IPAMPool}, "InvalidConfigurationRequest", "b"},
		"a capacity":                            {steps.Set{Setting: steps.Capacity}, "CapacityUnitsLimitExceeded", "b"},
		"a web ACL":                             {steps.Set{Setting: steps.WebACL}, "WAFNonexistentItemException", "a"},
		"a web ACL of WAF Classic":              {steps.Set{Setting: steps.ClassicACL}, "WAFNonexistentItemException", "b"},
		"a protection":                          {steps.Protect{}, "LimitsExceededException", "a"},
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
			if attributes[tc.code] != "" {
				failure.Err = &apply.AttributesError{Keys: []string{tc.code}}
			}
			if got := Of(failure, wanted, seen); got != tc.want {
				t.Errorf("owner %q, want %q", got, tc.want)
			}
		})
	}
}
