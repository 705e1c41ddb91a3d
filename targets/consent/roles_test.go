// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package consent

import (
	"regexp"
	"strings"
	"testing"
)

const list = `
# the shop's
shop:
- arn:aws:iam::123456789012:role/shop-*
- arn:aws:iam::210987654321:role/team/shop/lb
"team-*":
- arn:aws:iam::*:role/team/*
"*":
- arn:aws:iam::333333333333:role/targetgate
none: []
`

func TestRolesRefuse(t *testing.T) {
	roles, err := ParseRoles([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		roles           *Roles
		namespace, role string
		want            string // of what is allowed; empty when the role is
	}{
		"no list":                       {namespace: "shop", role: "arn:aws:iam::999999999999:role/any"},
		"no role":                       {roles: roles, namespace: "till"},
		"by its name":                   {roles: roles, namespace: "shop", role: "arn:aws:iam::210987654321:role/team/shop/lb"},
		"by a pattern":                  {roles: roles, namespace: "shop", role: "arn:aws:iam::123456789012:role/shop-lb"},
		"by nothing but the star's end": {roles: roles, namespace: "shop", role: "arn:aws:iam::123456789012:role/shop-"},
		"any namespace's":               {roles: roles, namespace: "till", role: "arn:aws:iam::333333333333:role/targetgate"},
		"namespaces by a pattern":       {roles: roles, namespace: "team-a", role: "arn:aws:iam::123456789012:role/team/a/lb"},
		"another account":               {roles: roles, namespace: "till", role: "arn:aws:iam::210987654321:role/targetgate", want: "only arn:aws:iam::333333333333:role/targetgate"},
		"another name":                  {roles: roles, namespace: "none", role: "arn:aws:iam::333333333333:role/targetgate2", want: "only arn:aws:iam::333333333333:role/targetgate"},
		"a colon is not for stars":      {roles: roles, namespace: "team-a", role: "arn:aws:iam::123456789012:role/x:role/team/lb", want: "only arn:aws:iam::333333333333:role/targetgate, arn:aws:iam::*:role/team/*"},
		"an empty list":                 {roles: mustParse(t, ""), namespace: "shop", role: "arn:aws:iam::333333333333:role/targetgate", want: "none"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			want := ""
			if tc.want != "" {
				want = "role " + tc.role + " may not be assumed for bindings of namespace " + tc.namespace + ": --role-allowlist allows them " + tc.want
			}
			if got := tc.roles.Refusal(tc.namespace, tc.role); got != want {
				t.Errorf("refusal:\n got %q\nwant %q", got, want)
			}
		})
	}
}

func mustParse(t *testing.T, content string) *Roles {
	t.Helper()
	roles, err := ParseRoles([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return roles
}

// A refusal stays short however long the list is.
func TestRolesRefuseShowsSome(t *testing.T) {
	roles := mustParse(t, "shop:\n"+strings.Repeat("- arn:aws:iam::123456789012:role/a\n", 7))
	if got := roles.Refusal("shop", "arn:aws:iam::123456789012:role/b"); strings.Count(got, "role/a") != 5 || !strings.HasSuffix(got, " and 2 more") {
		t.Errorf("refusal %q, want 5 patterns and how many there are more", got)
	}
}

func TestParseRolesSaysWhatIsWrong(t *testing.T) {
	tests := map[string]struct {
		content string
		want    []string
	}{
		"a role in the place of a list": {"shop: arn:aws:iam::123456789012:role/a", []string{"must be a map of namespaces to lists of role ARNs", "line 1", "cannot unmarshal !!str"}},
		"a list":                        {"- shop", []string{"must be a map of namespaces to lists of role ARNs"}},
		"twice the same namespace":      {"shop: []\nshop: []", []string{`line 2: mapping key "shop" already defined at line 1`}},
		"no YAML":                       {"shop: [", []string{"must be a map of namespaces"}},
		"two documents":                 {"shop: []\n---\nshop: []", []string{"one YAML document"}},
		"no ARN":                        {"shop: [shop-lb]", []string{`shop[0]: "shop-lb": must be a role's ARN, such as arn:aws:iam::123456789012:role/NAME`}},
		"of something else":             {"shop: [arn:aws:iam::123456789012:user/a]", []string{"shop[0]"}},
		"of no account":                 {"shop: [arn:aws:iam:::role/a]", []string{"shop[0]"}},
		"of half an account":            {"shop: [arn:aws:iam::1234:role/a]", []string{"shop[0]"}},
		"an external ID":                {"shop: [{role: arn:aws:iam::123456789012:role/a}]", []string{"cannot unmarshal !!map"}},
		"an empty entry":                {"shop: ['']", []string{`shop[0]: "": must be a role's ARN`}},
		"no namespace":                  {"Shop_1: []\n'': []", []string{`"": must be the name of a namespace`, `"Shop_1": must be the name of a namespace`}},
		"all faults":                    {"shop: [a, b]", []string{"shop[0]", "shop[1]"}},
		"too large":                     {strings.Repeat("#", MaxRolesSize+1), []string{"1048577 bytes: must be 1048576 at most"}},
		"a pattern too long":            {"shop: ['arn:aws:iam::123456789012:role/" + strings.Repeat("a", 1024) + "']", []string{"shop[0]"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			roles, err := ParseRoles([]byte(tc.content))
			if err == nil || roles != nil {
				t.Fatalf("roles %v, error %v; want an error alone", roles, err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q, want one that says %q", err, want)
				}
			}
		})
	}
}

func TestParseRolesTakesAllPartitions(t *testing.T) {
	roles := mustParse(t, "shop: ['arn:aws-cn:iam::123456789012:role/a', 'arn:aws-us-gov:iam::1*:role/b', 'arn:*:iam::*:role/c']")
	for _, role := range []string{"arn:aws-cn:iam::123456789012:role/a", "arn:aws-us-gov:iam::111111111111:role/b", "arn:aws:iam::123456789012:role/c"} {
		if refusal := roles.Refusal("shop", role); refusal != "" {
			t.Error(refusal)
		}
	}
}

// No list panics, what it allows it allows by one of its own patterns, and refusals are short.
func FuzzParseRoles(f *testing.F) {
	f.Add([]byte(list), "shop", "arn:aws:iam::123456789012:role/shop-lb")
	f.Add([]byte("a: &a [x]\nb: *a"), "a", "x")
	f.Add([]byte("'*': ['arn:aws:iam::*:role/*']"), "a", "arn:aws:iam::1:role/x:y")
	f.Fuzz(func(t *testing.T, content []byte, namespace, role string) {
		roles, err := ParseRoles(content)
		if err != nil {
			if len(err.Error()) > 100_000+2*len(content) {
				t.Fatalf("an error of %d bytes for %d", len(err.Error()), len(content))
			}
			return
		}
		refusal := roles.Refusal(namespace, role)
		allowed := role == ""
		for _, pattern := range roles.of(namespace) {
			allowed = allowed || globByHand(pattern, role)
		}
		if allowed != (refusal == "") {
			t.Fatalf("role %q of namespace %q: refusal %q, want one: %t", role, namespace, refusal, !allowed)
		}
	})
}

func globByHand(pattern, text string) bool {
	return regexp.MustCompile(`(?s)\A` + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `[^:]*`) + `\z`).MatchString(text)
}

func FuzzGlob(f *testing.F) {
	for _, pattern := range []string{"", "*", "a*b", "*a*b*", "a**", "a*:b*"} {
		f.Add(pattern, "a:b")
		f.Add(pattern, "aab")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if !isASCII(pattern) || !isASCII(text) { // a regular expression counts characters, not bytes
			return
		}
		if got, want := glob(pattern, text), globByHand(pattern, text); got != want {
			t.Errorf("glob(%q, %q) is %t, want %t", pattern, text, got, want)
		}
	})
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > 126 || r < 1 }) < 0
}
