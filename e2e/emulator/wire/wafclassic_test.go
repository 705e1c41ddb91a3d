// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/wafregional"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/waf"
)

func (b *bed) classic() *wafregional.Client { return wafregional.NewFromConfig(b.config) }

func (b *bed) associateClassic(acl, balancer string) error {
	_, err := b.classic().AssociateWebACL(ctx(b.t), &wafregional.AssociateWebACLInput{WebACLId: &acl, ResourceArn: &balancer})
	return err
}

func (b *bed) disassociateClassic(balancer string) error {
	_, err := b.classic().DisassociateWebACL(ctx(b.t), &wafregional.DisassociateWebACLInput{ResourceArn: &balancer})
	return err
}

// classicOf is the name of a load balancer's Web ACL and its id, "" is none.
func (b *bed) classicOf(balancer string) (string, error) {
	out, err := b.classic().GetWebACLForResource(ctx(b.t), &wafregional.GetWebACLForResourceInput{ResourceArn: &balancer})
	if err != nil || out.WebACLSummary == nil {
		return "", err
	}
	return *out.WebACLSummary.Name + " " + *out.WebACLSummary.WebACLId, nil
}

func TestClassicWebACLOfALoadBalancer(t *testing.T) {
	b, balancer := newWAFBed(t, state.Application)
	first, second := b.cloud.WAF.AddClassic("", "first").ID, b.cloud.WAF.AddClassic("", "second").ID
	want := func(acl string) {
		t.Helper()
		if got := must[string](t)(b.classicOf(balancer)); got != acl {
			t.Errorf("Web ACL is %q, want %q", got, acl)
		}
	}
	want("")
	wantCode(t, b.associateClassic(first, balancer), "")
	wantCode(t, b.associateClassic(second, balancer), "")
	want("second " + second)
	if acl := must[string](t)(b.aclOf(balancer)); acl != "" {
		t.Errorf("WAFv2 has %s", acl)
	}
	wantCode(t, b.disassociateClassic(balancer), "")
	wantCode(t, b.disassociateClassic(balancer), "")
	want("")
	wantCode(t, b.associateClassic(second, balancer), "")
	wantCode(t, b.associate(b.cloud.WAF.Add("", "newer", waf.ScopeRegional).ARN, balancer), "")
	want("") // the Web ACL of WAFv2 has taken over
	wantCode(t, b.machine.DeleteBalancer(balancer), "")
	_, err := b.classicOf(balancer)
	wantCode(t, err, "WAFNonexistentItemException")
}

func TestClassicWebACLIsFoundByItsID(t *testing.T) {
	b, _ := newWAFBed(t, state.Application)
	id := b.cloud.WAF.AddClassic("", "first").ID
	out := must[*wafregional.GetWebACLOutput](t)(b.classic().GetWebACL(ctx(t), &wafregional.GetWebACLInput{WebACLId: &id}))
	if *out.WebACL.WebACLId != id || *out.WebACL.Name != "first" {
		t.Errorf("Web ACL %+v", out.WebACL)
	}
	foreign := b.cloud.WAF.AddClassic("210987654321", "foreign").ID
	_, err := b.classic().GetWebACL(ctx(t), &wafregional.GetWebACLInput{WebACLId: &foreign})
	wantCode(t, err, "WAFNonexistentItemException")
}

func TestWAFClassicRefusals(t *testing.T) {
	const missing = "WAFNonexistentItemException"
	b, balancer := newWAFBed(t, state.Application)
	acl := b.cloud.WAF.AddClassic("", "first").ID
	wantCode(t, b.associateClassic(acl+"x", balancer), missing)
	wantCode(t, b.associateClassic(acl, balancer+"x"), missing)
	wantCode(t, b.disassociateClassic(balancer+"x"), missing)
	wantCode(t, b.associateClassic(b.cloud.WAF.AddClassic("210987654321", "foreign").ID, balancer), missing)
	made := must[*elb.CreateLoadBalancerOutput](t)(b.elb.CreateLoadBalancer(ctx(t), &elb.CreateLoadBalancerInput{
		Name: aws.String("made"), Subnets: []string{subnetA, subnetB},
	}))
	wantCode(t, b.associateClassic(acl, *made.LoadBalancers[0].LoadBalancerArn), "WAFUnavailableEntityException")
	other, network := newWAFBed(t, state.Network)
	wantCode(t, other.associateClassic(other.cloud.WAF.AddClassic("", "a").ID, network), "WAFInvalidParameterException")
}

func TestPolicyForClassicWebACLs(t *testing.T) {
	const denied = "AccessDeniedException"
	b, balancer := newWAFBed(t, state.Application)
	acl := b.cloud.WAF.AddClassic("", "first").ID
	set := allows("elasticloadbalancing:SetWebAcl", "*", "")
	for name, tc := range map[string]struct {
		statements []string
		want       string
	}{
		"with the load balancer's action":    {[]string{allows("waf-regional:AssociateWebACL", "*", ""), set}, ""},
		"without the load balancer's action": {[]string{allows("waf-regional:AssociateWebACL", "*", "")}, denied},
		"the action of WAFv2":                {[]string{allows("wafv2:AssociateWebACL", "*", ""), set}, denied},
		"on another Web ACL": {[]string{
			allows("waf-regional:AssociateWebACL", balancer, ""), allows("waf-regional:AssociateWebACL", "arn:aws:waf-regional:*:*:webacl/"+acl+"x", ""), set,
		}, denied},
		"on both": {[]string{
			allows("waf-regional:AssociateWebACL", balancer, ""), allows("waf-regional:AssociateWebACL", "arn:aws:waf-regional:eu-west-1:123456789012:webacl/"+acl, ""), set,
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b.server.SetPolicies("AKIATEST", policy(t, tc.statements...))
			wantCode(t, b.associateClassic(acl, balancer), tc.want)
		})
	}
}

// TestWAFsHaveTheirOwnBuckets: a call of one does not use up the other's.
func TestWAFsHaveTheirOwnBuckets(t *testing.T) {
	b, balancer := newWAFBed(t, state.Application)
	b.server.SetLimits(Limits{WAFLookup: Limit{Capacity: 1, Refill: 0.001}})
	_, err := b.aclOf(balancer)
	wantCode(t, err, "")
	_, err = b.classicOf(balancer)
	wantCode(t, err, "")
	_, err = b.classicOf(balancer)
	wantCode(t, err, "ThrottlingException")
}
