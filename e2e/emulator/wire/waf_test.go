// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	"github.com/aws/aws-sdk-go-v2/service/wafv2/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/waf"
)

func (b *bed) waf() *wafv2.Client { return wafv2.NewFromConfig(b.config) }

func (b *bed) associate(acl, balancer string) error {
	_, err := b.waf().AssociateWebACL(ctx(b.t), &wafv2.AssociateWebACLInput{WebACLArn: &acl, ResourceArn: &balancer})
	return err
}

func (b *bed) disassociate(balancer string) error {
	_, err := b.waf().DisassociateWebACL(ctx(b.t), &wafv2.DisassociateWebACLInput{ResourceArn: &balancer})
	return err
}

// aclOf is the ARN of a load balancer's Web ACL, "" is none.
func (b *bed) aclOf(balancer string) (string, error) {
	out, err := b.waf().GetWebACLForResource(ctx(b.t), &wafv2.GetWebACLForResourceInput{ResourceArn: &balancer})
	if err != nil || out.WebACL == nil {
		return "", err
	}
	return *out.WebACL.ARN, nil
}

func newWAFBed(t *testing.T, kind string) (b *bed, balancer string) {
	t.Helper()
	b = newBed(t, cloud.Options{}, Options{Limits: &Limits{}})
	return b, must[state.Balancer](t)(b.machine.CreateBalancer("", state.BalancerSpec{Name: "lb", Type: kind, Subnets: []string{subnetA, subnetB}})).ARN
}

func TestWebACLOfALoadBalancer(t *testing.T) {
	b, balancer := newWAFBed(t, state.Application)
	first := b.cloud.WAF.Add("", "first", waf.ScopeRegional).ARN
	second := b.cloud.WAF.Add("", "second", waf.ScopeRegional).ARN
	want := func(acl string) {
		t.Helper()
		if got := must[string](t)(b.aclOf(balancer)); got != acl {
			t.Errorf("Web ACL is %q, want %q", got, acl)
		}
	}
	want("")
	wantCode(t, b.associate(first, balancer), "")
	wantCode(t, b.associate(second, balancer), "")
	want(second)
	wantCode(t, b.disassociate(balancer), "")
	wantCode(t, b.disassociate(balancer), "")
	want("")
	wantCode(t, b.associate(first, balancer), "")
	wantCode(t, b.machine.DeleteBalancer(balancer), "")
	_, err := b.aclOf(balancer)
	wantCode(t, err, "WAFNonexistentItemException")
}

func TestWAFRefusals(t *testing.T) {
	const missing, invalid = "WAFNonexistentItemException", "WAFInvalidParameterException"
	b, balancer := newWAFBed(t, state.Application)
	regional := b.cloud.WAF.Add("", "regional", waf.ScopeRegional).ARN
	wantCode(t, b.associate(regional+"x", balancer), missing)
	wantCode(t, b.associate(regional, balancer+"x"), missing)
	wantCode(t, b.disassociate(balancer+"x"), missing)
	wantCode(t, b.associate(b.cloud.WAF.Add("210987654321", "foreign", waf.ScopeRegional).ARN, balancer), missing)
	wantCode(t, b.associate(b.cloud.WAF.Add("", "global", waf.ScopeCloudFront).ARN, balancer), invalid)
	b.cloud.WAF.SetUnreachable(balancer, true)
	wantCode(t, b.associate(regional, balancer), "WAFUnavailableEntityException")
	b.cloud.WAF.SetUnreachable(balancer, false)
	wantCode(t, b.associate(regional, balancer), "")
	other, network := newWAFBed(t, state.Network)
	wantCode(t, other.associate(other.cloud.WAF.Add("", "a", waf.ScopeRegional).ARN, network), invalid)
}

func TestWAFDoesNotFindALoadBalancerThatIsBeingMade(t *testing.T) {
	clock := testclock.NewFakeClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	b := newBed(t, cloud.Options{Region: region.Options{Clock: clock}}, Options{Limits: &Limits{}})
	acl := b.cloud.WAF.Add("", "first", waf.ScopeRegional).ARN
	made := must[*elb.CreateLoadBalancerOutput](t)(b.elb.CreateLoadBalancer(ctx(t), &elb.CreateLoadBalancerInput{
		Name: aws.String("made"), Subnets: []string{subnetA, subnetB},
	}))
	balancer := *made.LoadBalancers[0].LoadBalancerArn
	wantCode(t, b.associate(acl, balancer), "WAFUnavailableEntityException")
	clock.Step(10 * time.Minute)
	wantCode(t, b.associate(acl, balancer), "")
}

func TestWebACLsAreRead(t *testing.T) {
	b, _ := newWAFBed(t, state.Application)
	first := b.cloud.WAF.Add("", "first", waf.ScopeRegional)
	b.cloud.WAF.Add("", "second", waf.ScopeRegional)
	b.cloud.WAF.Add("", "global", waf.ScopeCloudFront)
	page := func(marker *string) *wafv2.ListWebACLsOutput {
		return must[*wafv2.ListWebACLsOutput](t)(b.waf().ListWebACLs(ctx(t), &wafv2.ListWebACLsInput{Scope: types.ScopeRegional, Limit: aws.Int32(1), NextMarker: marker}))
	}
	one := page(nil)
	two := page(one.NextMarker)
	if *one.WebACLs[0].Name != "first" || *two.WebACLs[0].Name != "second" || two.NextMarker != nil {
		t.Errorf("pages are %v and %v, want first and second", one.WebACLs, two.WebACLs)
	}
	get := func(in wafv2.GetWebACLInput) error {
		out, err := b.waf().GetWebACL(ctx(t), &in)
		if err == nil && *out.WebACL.ARN != first.ARN {
			t.Errorf("got %s, want %s", *out.WebACL.ARN, first.ARN)
		}
		return err
	}
	wantCode(t, get(wafv2.GetWebACLInput{ARN: &first.ARN}), "")
	wantCode(t, get(wafv2.GetWebACLInput{Name: &first.Name, Id: &first.ID, Scope: types.ScopeRegional}), "")
	wantCode(t, get(wafv2.GetWebACLInput{Name: &first.Name, Id: &first.ID, Scope: types.ScopeCloudfront}), "WAFNonexistentItemException")
}

func TestPolicyForWebACLs(t *testing.T) {
	const denied = "AccessDeniedException"
	b, balancer := newWAFBed(t, state.Application)
	acl := b.cloud.WAF.Add("", "first", waf.ScopeRegional).ARN
	for name, tc := range map[string]struct {
		statements []string
		want       string
	}{
		"with the load balancer's action":    {[]string{allows("wafv2:AssociateWebACL", "*", ""), allows("elasticloadbalancing:SetWebAcl", "arn:aws:elasticloadbalancing:*:*:loadbalancer/app/*", "")}, ""},
		"without the load balancer's action": {[]string{allows("wafv2:AssociateWebACL", "*", "")}, denied},
		"on the load balancer alone":         {[]string{allows("*", "arn:aws:elasticloadbalancing:*", "")}, denied},
	} {
		t.Run(name, func(t *testing.T) {
			b.server.SetPolicies("AKIATEST", policy(t, tc.statements...))
			wantCode(t, b.associate(acl, balancer), tc.want)
		})
	}
}
