// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

func TestParseRules(t *testing.T) {
	tests := map[string]struct {
		in          string
		wantRules   int
		wantSkipped int
		wantErr     string
	}{
		"empty":          {in: ""},
		"two rules":      {in: "Elastic Load Balancing v2:^Register=4:20,Elastic Load Balancing v2:^Describe=0.5:1", wantRules: 2},
		"other service":  {in: "Global Accelerator:^Create=0.5:1,Elastic Load Balancing v2:.=1:1", wantRules: 1, wantSkipped: 1},
		"each service":   {in: "EC2:^Describe=1:1,STS:.=1:1,Elastic Load Balancing v2:.=1:1,ACM:.=1:1,WAFV2:^Get=1:1,WAF Regional:^Get=1:1", wantRules: 6},
		"blanks":         {in: " EC2:^Describe=1:1, Elastic Load Balancing v2:.=1:1 , ", wantRules: 2},
		"no operation":   {in: "nonsense", wantErr: `must be serviceID:operationRegex=rate:burst, such as "Elastic Load Balancing v2:^Describe=25:100"`},
		"no equals sign": {in: "Elastic Load Balancing v2:^Describe", wantErr: "no ="},
		"bad pattern":    {in: "Elastic Load Balancing v2:(=1:1", wantErr: "operation pattern"},
		"zero rate":      {in: "Elastic Load Balancing v2:.=0:1", wantErr: `rate "0"`},
		"no number":      {in: "Elastic Load Balancing v2:.=NaN:1", wantErr: `rate "NaN"`},
		"no burst":       {in: "Elastic Load Balancing v2:.=1", wantErr: `burst ""`},
		"negative burst": {in: "Elastic Load Balancing v2:.=1:-3", wantErr: `burst "-3"`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			rules, skipped, err := ParseRules(tc.in)
			if tc.wantErr == "" && err != nil || tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)) {
				t.Fatalf("error %v, want one with %q", err, tc.wantErr)
			}
			if len(rules) != tc.wantRules || len(skipped) != tc.wantSkipped {
				t.Errorf("%d rules and %d skipped, want %d and %d", len(rules), len(skipped), tc.wantRules, tc.wantSkipped)
			}
		})
	}
}

// The help shows the default rules as a user would write them.
func TestTextOfRulesIsRead(t *testing.T) {
	text := Text(DefaultRules())
	rules, skipped, err := ParseRules(text)
	if got := Text(rules); got != text || len(skipped) > 0 || err != nil {
		t.Errorf("%s\nis read as\n%s\nskipped %v, error %v", text, got, skipped, err)
	}
}

func TestDefaultRulesKnowsEveryOperation(t *testing.T) {
	budget := New("", nil, clock.RealClock{})
	for service, operations := range map[string][]string{
		ELBv2: {
			"RegisterTargets", "DeregisterTargets", "DescribeTargetHealth", "DescribeTargetGroups", "DescribeTargetGroupAttributes",
			"CreateLoadBalancer", "SetSubnets", "AddTags", "RemoveTags", "DeleteRule", "ModifyListener", "SetRulePriorities",
		},
		EC2: {
			"AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress", "DescribeInstances", "DescribeNetworkInterfaces", "DescribeSecurityGroups",
			"CreateSecurityGroup", "DeleteSecurityGroup", "CreateTags", "DeleteTags",
		},
		ACM:   {"ListCertificates", "DescribeCertificate", "ListTagsForCertificate", "RequestCertificate", "DeleteCertificate"},
		WAFv2: {"GetWebACLForResource", "ListWebACLs", "AssociateWebACL", "DisassociateWebACL"},

		WAFClassic: {"GetWebACLForResource", "AssociateWebACL", "DisassociateWebACL"},

		Route53: {"ListHostedZones", "ChangeResourceRecordSets"},

		Shield: {"GetSubscriptionState", "DescribeProtection", "CreateProtection", "DeleteProtection"},
	} {
		for _, operation := range operations {
			if budget.bucketFor(service, operation) == nil {
				t.Errorf("%s of %s is charged to no bucket", operation, service)
			}
		}
	}
	if budget.bucketFor(EC2, "AuthorizeSecurityGroupIngress") == budget.bucketFor(EC2, "RevokeSecurityGroupIngress") {
		t.Error("AuthorizeSecurityGroupIngress and RevokeSecurityGroupIngress share a bucket, AWS counts them apart")
	}
	if budget.bucketFor(ELBv2, "RegisterTargets") == budget.bucketFor(ELBv2, "CreateRule") {
		t.Error("registrations and what makes load balancers share a bucket")
	}
	if budget.bucketFor(ELBv2, "RegisterTargets") != budget.bucketFor(ELBv2, "DeregisterTargets") {
		t.Error("RegisterTargets and DeregisterTargets have buckets of their own, AWS counts them together")
	}
}

// Rules that match every operation, as users write them, still are for the calls of one service.
func TestServicesHaveBucketsOfTheirOwn(t *testing.T) {
	rules, _, err := ParseRules("EC2:.=1:1,Elastic Load Balancing v2:.=2:2,STS:.=3:3")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		account string
		rules   []Rule
		want    map[string]float64 // the rate of Describe calls, by service; none is free
	}{
		"own account":                 {rules: rules, want: map[string]float64{ACM: 5, EC2: 1, ELBv2: 2, STS: 3}},
		"own account, by default":     {want: map[string]float64{ACM: 5, EC2: 5, ELBv2: 25, STS: 25}},
		"own account, rules of EC2":   {rules: rules[:1], want: map[string]float64{ACM: 5, EC2: 1, ELBv2: 25, STS: 25}},
		"another account":             {account: "1", rules: rules, want: map[string]float64{ELBv2: 2}},
		"another account, by default": {account: "1", want: map[string]float64{ELBv2: 25}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			budget := New(tc.account, tc.rules, clock.RealClock{})
			got := map[string]float64{}
			for _, service := range []string{ACM, EC2, ELBv2, STS, "Global Accelerator"} {
				if bucket := budget.bucketFor(service, "DescribeAny"); bucket != nil {
					got[service] = bucket.rule.Rate
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("rates (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParseRules(f *testing.F) {
	f.Add("Elastic Load Balancing v2:^Register=4:20,Elastic Load Balancing v2:^Describe=25:100")
	f.Add("Elastic Load Balancing v2:(=:")
	f.Fuzz(func(t *testing.T, in string) {
		rules, _, err := ParseRules(in)
		if err != nil {
			return
		}
		for _, rule := range rules {
			if !(rule.Rate > 0) || rule.Burst < 1 || rule.Operations == nil {
				t.Errorf("%q was accepted as %+v", in, rule)
			}
		}
	})
}
