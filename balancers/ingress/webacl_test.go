// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"slices"
	"strings"
	"testing"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/lookup"
)

// A web ACL of AWS WAF Classic is associated as asked, with a warning, where the Region has them.
func TestWebACLOfWAFClassic(t *testing.T) {
	const retired, absent = "AWS has retired AWS WAF Classic: name a web ACL of AWS WAF in alb.ingress.kubernetes.io/wafv2-acl-arn instead",
		"this Region has no AWS WAF Classic"
	for name, tc := range map[string]struct {
		annotations map[string]string
		options     func(*input.Options)
		none        string
		want        *string
		warnings    []string
		needs       []string
	}{
		"nobody says anything":         {},
		"an ID":                        {annotations: map[string]string{"waf-acl-id": "a"}, want: new("a"), warnings: []string{retired}, needs: []string{"a"}},
		"by its former name":           {annotations: map[string]string{"web-acl-id": "a"}, want: new("a"), warnings: []string{retired}, needs: []string{"a"}},
		"by both":                      {annotations: map[string]string{"waf-acl-id": "a", "web-acl-id": "b"}, want: new("a"), warnings: []string{retired}, needs: []string{"a"}},
		"none":                         {annotations: map[string]string{"waf-acl-id": "none"}, want: new("")},
		"nothing":                      {annotations: map[string]string{"waf-acl-id": "", "web-acl-id": "b"}},
		"none, and one of AWS WAF":     {annotations: map[string]string{"waf-acl-id": "none", "wafv2-acl-arn": aclARN("a")}, want: new("")},
		"one, and none of AWS WAF":     {annotations: map[string]string{"waf-acl-id": "a", "wafv2-acl-arn": "none"}, want: new("a"), warnings: []string{retired}, needs: []string{"a"}},
		"the flag is off":              {annotations: map[string]string{"waf-acl-id": "a"}, options: func(o *input.Options) { o.WAFClassic = false }, warnings: []string{retired}},
		"none, and the flag is off":    {annotations: map[string]string{"waf-acl-id": "none"}, options: func(o *input.Options) { o.WAFClassic = false }},
		"AWS WAF's flag is off":        {annotations: map[string]string{"waf-acl-id": "a", "wafv2-acl-arn": aclARN("a")}, options: func(o *input.Options) { o.WAFv2 = false }, want: new("a"), warnings: []string{retired}, needs: []string{"a"}},
		"the flag is off, and AWS WAF": {annotations: map[string]string{"waf-acl-id": "a", "wafv2-acl-arn": aclARN("a")}, options: func(o *input.Options) { o.WAFClassic = false }, warnings: []string{retired}},
		"the Region has none":          {annotations: map[string]string{"waf-acl-id": "a"}, none: absent, warnings: []string{retired, absent + ", the present association is left as it is"}, needs: []string{"a"}},
		"the Region has none, but AWS WAF": {
			annotations: map[string]string{"waf-acl-id": "a", "wafv2-acl-arn": aclARN("a")}, none: absent,
			warnings: []string{retired, absent + ", the present association is left as it is"}, needs: []string{"a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := three(t)
			for name, value := range tc.annotations {
				annotate(&in, 1, annotation.Prefix+name, value)
			}
			if tc.options != nil {
				tc.options(&in.Options)
			}
			if in.AWS.NoClassicACLs = tc.none; tc.none != "" {
				in.AWS.ClassicACLs = nil
			}
			got, faults := Build(in)
			if acl := got.LoadBalancers[0].ClassicACL; (acl == nil) != (tc.want == nil) || acl != nil && *acl != *tc.want {
				t.Errorf("web ACL %v, want %v", acl, tc.want)
			}
			var warnings []string
			for _, fault := range faults {
				if !fault.IsWarning() || fault.Member != "shop/b" {
					t.Errorf("fault %+v", fault)
				}
				warnings = append(warnings, fault.Reason)
			}
			if !slices.Equal(warnings, tc.warnings) {
				t.Errorf("warnings %q, want %q", warnings, tc.warnings)
			}
			warned := CheckAlone(in.Group, in.Members[1], in.Services, in.Options)
			tells := func(f fault.Fault) bool { return f.Reason == retired }
			if slices.ContainsFunc(warned, tells) != slices.ContainsFunc(faults, tells) {
				t.Errorf("told at admission: %v, later: %v", warned, faults)
			}
			if needs := input.NeedsOf(in).ClassicACLs; !slices.Equal(needs, tc.needs) {
				t.Errorf("looked up: %q, want %q", needs, tc.needs)
			}
		})
	}
}

// AWS takes one web ACL for a load balancer: an Ingress that has two keeps what there is, and is told at admission, too.
func TestWebACLsOfBothKinds(t *testing.T) {
	for name, other := range map[string]map[string]string{
		"by its ARN": {"wafv2-acl-arn": aclARN("a")}, "by its name": {"wafv2-acl-name": "n"},
	} {
		t.Run(name, func(t *testing.T) {
			in := three(t)
			in.AWS.WebACLs = map[string]lookup.Named{"n": {ARN: aclARN("n")}}
			annotate(&in, 1, annotation.Prefix+"waf-acl-id", "a")
			var named string
			for name, value := range other {
				named = annotation.Prefix + name
				annotate(&in, 1, named, value)
			}
			got, faults := Build(in)
			tells := func(f fault.Fault) bool {
				return !f.IsWarning() && f.Annotation == annotation.Prefix+"waf-acl-id" && strings.Contains(f.Reason, named) && strings.Contains(f.Reason, "one web ACL")
			}
			if !got.Members[1].Held || !slices.ContainsFunc(faults, tells) {
				t.Errorf("held: %v, faults %v", got.Members[1].Held, faults)
			}
			if warned := CheckAlone(in.Group, in.Members[1], in.Services, in.Options); !slices.ContainsFunc(warned, tells) {
				t.Errorf("told at admission: %v", warned)
			}
		})
	}
}

// The kind of web ACL that is seen counts, if a member wants it, whoever comes first; else that of the first one.
func TestTheKindOfWebACLThatIsSeenWins(t *testing.T) {
	const waf, classic = 0, 1 // the members
	for name, tc := range map[string]struct {
		acl, classic *string
		first, held  int
	}{
		"of AWS WAF":         {acl: new(aclARN("x")), first: classic, held: classic},
		"of AWS WAF Classic": {acl: new(""), classic: new("x"), first: waf, held: waf},
		"none":               {acl: new(""), classic: new(""), first: waf, held: classic},
		"not known":          {first: classic, held: waf},
	} {
		t.Run(name, func(t *testing.T) {
			in := three(t)
			annotate(&in, waf, annotation.Prefix+"wafv2-acl-arn", aclARN("b"))
			annotate(&in, classic, annotation.Prefix+"waf-acl-id", "a")
			held := in.Members[tc.held].Ingress.Name
			if tc.first == classic {
				in.Members[waf], in.Members[classic] = in.Members[classic], in.Members[waf]
			}
			before, _ := Build(in)
			in.Seen = made(before)
			in.Seen.LoadBalancers[0].WebACL, in.Seen.LoadBalancers[0].ClassicACL = tc.acl, tc.classic
			got, faults := Build(in)
			for _, member := range got.Members {
				if member.Held != (member.Name == "shop/"+held) {
					t.Errorf("%s is held: %v; faults %v", member.Name, member.Held, faults)
				}
			}
		})
	}
}
