// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseMap(t *testing.T) {
	tests := map[string]struct {
		value string
		want  map[string]string
		fault string // a part of the error
	}{
		"nothing":                       {value: " ", want: map[string]string{}},
		"pairs with blanks":             {value: " a = b , c=d ", want: map[string]string{"a": "b", "c": "d"}},
		"an equals sign in a value":     {value: "a=b=c", want: map[string]string{"a": "b=c"}},
		"an empty value":                {value: "a=", want: map[string]string{"a": ""}},
		"an escaped comma":              {value: `a=b\,c,d=e`, want: map[string]string{"a": "b,c", "d": "e"}},
		"an escaped equals sign":        {value: `a\=b=c`, want: map[string]string{"a=b": "c"}},
		"an escaped backslash":          {value: `a=b\\,c=d`, want: map[string]string{"a": `b\`, "c": "d"}},
		"a key twice":                   {value: "a=b,a=c", want: map[string]string{"a": "c"}},
		"a comma before text":           {value: "a=b,c", fault: `"c" has no equals sign`},
		"a comma at the end":            {value: "a=b,", fault: `"" has no equals sign`},
		"text alone":                    {value: "a", fault: `"a" has no equals sign`},
		"an empty key":                  {value: "=b", fault: `the key before "b" is empty`},
		"a long text without a pair":    {value: strings.Repeat("x", 1000), fault: strings.Repeat("x", 50) + `" has no`},
		"bytes that are no UTF-8 stand": {value: "a=\xff", want: map[string]string{"a": "\uFFFD"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parseMap(tc.value)
			if tc.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fault) {
					t.Errorf("error %v, want %s", err, tc.fault)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("error %v, pairs (-want +got):\n%s", err, diff)
			}
		})
	}
}

// Whatever keys and values are, there is a way to write them.
func FuzzMapsCanBeWritten(f *testing.F) {
	f.Add("key", "value")
	f.Add(`a,\=`, `,=\`)
	f.Fuzz(func(t *testing.T, key, value string) {
		key, value = strings.TrimSpace(strings.ToValidUTF8(key, "")), strings.TrimSpace(strings.ToValidUTF8(value, ""))
		if key == "" {
			return
		}
		escape := strings.NewReplacer(`\`, `\\`, ",", `\,`, "=", `\=`)
		got, err := parseMap(escape.Replace(key) + "=" + escape.Replace(value) + ",last=1")
		if err != nil || got["last"] != "1" || key != "last" && got[key] != value {
			t.Errorf("%q=%q became %q, %v", key, value, got, err)
		}
	})
}

func TestParseList(t *testing.T) {
	got, err := ParseList(" a, ,b,,c d ")
	if diff := cmp.Diff([]string{"a", "b", "c d"}, got); diff != "" || err != nil {
		t.Errorf("error %v, items (-want +got):\n%s", err, diff)
	}
}

func TestParsersSayWhatWouldBeRight(t *testing.T) {
	discard := func(_ any, err error) error { return err }
	list := func(value string) error { _, err := parseCIDRs(value); return err }
	for want, err := range map[string]error{
		"must be true or false":                          discard(parseBool("yes")),
		"must be an integer from 1 to 9":                 discard(intBetween(1, 9)("10")),
		"must be an integer from 1 to 8":                 discard(intBetween(1, 8)("1.5")),
		"must be ipv4, dualstack or ipv6":                discard(oneOf("ipv4", "dualstack", "ipv6")("IPv4")),
		"has 4 characters, must be at most 3":            discard(textUpTo(3)("abcd")),
		`"10.0.0.0" is not a CIDR such as 10.0.0.0/8 or`: list("10.1.0.0/16,10.0.0.0"),
		"is not the JSON that is wanted":                 discard(ParseJSON[[]string](`{}`)),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestCheckGroupName(t *testing.T) {
	for name, valid := range map[string]bool{
		"a": true, "team.public-edge": true, "0": true, "a--b..c": true, strings.Repeat("a", 63): true,
		"": false, "A": false, "-a": false, "a.": false, "a/b": false, "a_b": false, "a\n": false, strings.Repeat("a", 64): false,
	} {
		if err := CheckGroupName(name); (err == nil) != valid {
			t.Errorf("%q: %v, want valid: %v", name, err, valid)
		}
	}
}
