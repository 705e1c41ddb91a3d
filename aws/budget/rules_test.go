// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"strings"
	"testing"

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
		"other service":  {in: "WAF Regional:^AssociateWebACL=0.5:1,Elastic Load Balancing v2:.=1:1", wantRules: 1, wantSkipped: 1},
		"no operation":   {in: "nonsense", wantErr: "want ELBv2:operationRegex=rate:burst"},
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

func TestDefaultRulesKnowsEveryOperation(t *testing.T) {
	budget := New("", nil, clock.RealClock{})
	for _, operation := range []string{
		"RegisterTargets", "DeregisterTargets", "DescribeTargetHealth", "DescribeTargetGroups", "DescribeTargetGroupAttributes",
	} {
		if budget.bucketFor(ELBv2, operation) == nil {
			t.Errorf("%s is charged to no bucket", operation)
		}
	}
	if budget.bucketFor(ELBv2, "RegisterTargets") != budget.bucketFor(ELBv2, "DeregisterTargets") {
		t.Error("RegisterTargets and DeregisterTargets have buckets of their own, AWS counts them together")
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
