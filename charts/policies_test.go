// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/aws/elbv2"
	calls "github.com/targetgate/targetgate/aws/provision"
)

// Not called: RegisterTargets looks there in the caller's name (e2e/emulator/wire/elbapi/permissions.go).
var readByRegisterTargets = []string{"ec2:DescribeInstances", "ec2:DescribeInternetGateways", "ec2:DescribeSubnets", "ec2:DescribeVpcs"}

func TestPolicyAllowsWhatIsCalled(t *testing.T) {
	want := slices.Clone(readByRegisterTargets)
	for method := range reflect.TypeFor[elbv2.API]().Methods() {
		want = append(want, "elasticloadbalancing:"+method.Name)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, actions(t, "bindings.json")); diff != "" {
		t.Errorf("bindings.json (-called +allowed):\n%s", diff)
	}
	for method := range reflect.TypeFor[ec2.API]().Methods() {
		want = append(want, "ec2:"+method.Name)
	}
	slices.Sort(want)
	if diff := cmp.Diff(slices.Compact(want), actions(t, "bindings-and-security-groups.json")); diff != "" {
		t.Errorf("bindings-and-security-groups.json (-called +allowed):\n%s", diff)
	}
}

// What provisioning calls besides, under IAM's names. The policy is attached in addition to bindings-and-security-groups.json.
func TestPolicyOfLoadBalancersAllowsWhatIsCalled(t *testing.T) {
	want := []string{
		"acm:DescribeCertificate", "acm:ListCertificates", "wafv2:AssociateWebACL", "wafv2:DisassociateWebACL", "wafv2:GetWebACLForResource",
		"wafv2:ListWebACLs", "waf-regional:AssociateWebACL", "waf-regional:DisassociateWebACL", "waf-regional:GetWebACL",
		"waf-regional:GetWebACLForResource",
		"shield:CreateProtection", "shield:DeleteProtection", "shield:DescribeProtection", "shield:GetSubscriptionState",
		"ec2:AuthorizeSecurityGroupIngress", "ec2:RevokeSecurityGroupIngress", // Authorize and Revoke
		// Not called: CreateLoadBalancer and CreateTargetGroup look there in the caller's name.
		"ec2:DescribeAccountAttributes", "ec2:DescribeAddresses", "ec2:DescribeInternetGateways", "ec2:DescribeVpcs", "ec2:GetSecurityGroupsForVpc",
		// Not called: CreateLoadBalancer looks at a customer's pool of addresses in the caller's name. The policy of
		// aws-load-balancer-controller has the others, for pools of IPAM and for server certificates in IAM.
		"ec2:DescribeCoipPools", "ec2:GetCoipPoolUsage", "ec2:DescribeIpamPools", "iam:GetServerCertificate", "iam:ListServerCertificates",
		// Not called: CreateLoadBalancer, GetWebACLForResource, AssociateWebACL, and CreateRule with a login at Cognito need them.
		"cognito-idp:DescribeUserPoolClient", "iam:CreateServiceLinkedRole", "wafv2:GetWebACL", "elasticloadbalancing:SetWebAcl",
	}
	add := func(prefix string, methods iter.Seq[reflect.Method]) {
		for method := range methods {
			if !slices.Contains([]string{"For", "As", "Authorize", "Revoke"}, method.Name) {
				want = append(want, prefix+method.Name)
			}
		}
	}
	add("elasticloadbalancing:", reflect.TypeFor[*calls.ELB]().Methods())
	add("ec2:", reflect.TypeFor[*calls.EC2]().Methods())
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Compact(actions(t, "load-balancers.json"))); diff != "" {
		t.Errorf("load-balancers.json (-called +allowed):\n%s", diff)
	}
}

// What issuing of certificates calls besides. The policy is attached in addition to load-balancers.json.
func TestPolicyOfCertificatesAllowsWhatIsCalled(t *testing.T) {
	want := []string{
		// Not called: a request with tags needs the first, one of a private certificate authority the others.
		"acm:AddTagsToCertificate", "acm-pca:GetCertificate", "acm-pca:IssueCertificate", "acm-pca:ListPermissions",
		"acm:DeleteCertificate", "acm:ListTagsForCertificate", "acm:RequestCertificate",
		"route53:ChangeResourceRecordSets", "route53:ListHostedZones",
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, actions(t, "certificates.json")); diff != "" {
		t.Errorf("certificates.json (-called +allowed):\n%s", diff)
	}
}

// unconditional are the changes that may be allowed on everything: IAM knows no condition that all their objects meet.
var unconditional = []string{
	"ec2:CreateSecurityGroup", "shield:CreateProtection", "shield:DeleteProtection", "wafv2:AssociateWebACL", "wafv2:DisassociateWebACL",
	"waf-regional:AssociateWebACL", "waf-regional:DisassociateWebACL",
	"elasticloadbalancing:AddListenerCertificates", "elasticloadbalancing:CreateListener", "elasticloadbalancing:CreateRule",
	"elasticloadbalancing:DeleteListener", "elasticloadbalancing:DeleteRule", "elasticloadbalancing:ModifyListener",
	"elasticloadbalancing:ModifyListenerAttributes", "elasticloadbalancing:ModifyRule", "elasticloadbalancing:RemoveListenerCertificates",
	"elasticloadbalancing:SetRulePriorities", "elasticloadbalancing:SetWebAcl",
}

var reads = regexp.MustCompile(`:(Describe|Get|List)`)

// actions are what a policy of config/iam allows, sorted. What changes something may not be allowed on everything.
func actions(t *testing.T, file string) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("../config/iam", file))
	if err != nil {
		t.Fatal(err)
	}
	var policy struct {
		Statement []struct {
			Effect    string
			Action    []string
			Resource  any
			Condition map[string]any
		}
	}
	if err := json.Unmarshal(content, &policy); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, statement := range policy.Statement {
		for _, action := range statement.Action {
			limited := statement.Resource != "*" || len(statement.Condition) > 0
			if !limited && !reads.MatchString(action) && !slices.Contains(unconditional, action) {
				t.Errorf("%s: %s is allowed on everything", file, action)
			}
			out = append(out, action)
		}
	}
	slices.Sort(out)
	return out
}
