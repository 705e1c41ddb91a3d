// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package consent

import (
	"strings"
	"testing"
	"unicode"
)

var web = Binder{Cluster: "prod", Namespace: "shop", Name: "web"}

func TestRefusalByTag(t *testing.T) {
	const (
		add  = "the target group's tag targetgate.dev/bind does not name this binding: its owner can add prod/shop/web to it, after a space"
		none = "there is no consent for this binding: the target group's owner can give it with the tag targetgate.dev/bind=prod/shop/web"
	)
	long := strings.TrimSpace(strings.Repeat("prod/somebody-else ", 13))
	tests := map[string]struct {
		value    string
		untagged bool
		binder   Binder
		want     string
	}{
		"namespace":                     {value: "prod/shop"},
		"binding":                       {value: "prod/shop/web"},
		"one of several":                {value: "test/shop prod/till  prod/shop"},
		"any cluster":                   {value: "+/shop"},
		"any namespace":                 {value: "prod/+"},
		"any namespace, one name":       {value: "prod/+/web"},
		"any of all":                    {value: "+/+"},
		"star, should AWS ever take it": {value: "*/shop/*"},
		"no tag":                        {untagged: true, want: none},
		"empty":                         {want: none},
		"spaces":                        {value: "  ", want: none},
		"another cluster":               {value: "test/shop", want: add},
		"another namespace":             {value: "prod/till", want: add},
		"another binding":               {value: "prod/shop/api", want: add},
		"part of a name":                {value: "prod/sho prod/shop/we", want: add},
		"longer than the name":          {value: "prod/shop/web2", want: add},
		"no glob within a part":         {value: "prod/s+ prod/s*", want: add},
		"case matters":                  {value: "Prod/shop", want: add},
		"malformed":                     {value: "shop prod/shop/web/", want: add + " (2 of its 2 entries are not of the form cluster/namespace or cluster/namespace/binding)"},
		"empty parts":                   {value: "prod/ /shop prod//web prod/shop/", want: add + " (4 of its 4 entries are not of the form cluster/namespace or cluster/namespace/binding)"},
		"one wildcard is no entry":      {value: "+", want: add + " (1 of its 1 entries are not of the form cluster/namespace or cluster/namespace/binding)"},
		"commas do not separate":        {value: "prod/till,prod/shop", want: add},
		"too long for another": {value: long, want: "the target group's tag targetgate.dev/bind does not name this binding: its owner can add prod/shop/web, " +
			"but has to shorten the tag for that, as a value has at most 255 characters: + stands for any cluster, namespace or binding"},
		"name to be generated":                        {value: "prod/shop/web", binder: Binder{Cluster: "prod", Namespace: "shop"}},
		"name to be generated, but another namespace": {value: "prod/till/web", binder: Binder{Cluster: "prod", Namespace: "shop"}, want: strings.Replace(add, "prod/shop/web", "prod/shop", 1)},
		"nothing is known of the binder":              {value: "/ // a/b", binder: Binder{Name: "web"}, want: strings.Replace(add, "prod/shop/web", "//web", 1) + " (2 of its 3 entries are not of the form cluster/namespace or cluster/namespace/binding)"},
		"a name too long for a tag": {untagged: true, binder: Binder{Cluster: "prod", Namespace: "shop", Name: strings.Repeat("a", 253)},
			want: strings.Replace(none, "prod/shop/web", "prod/shop", 1)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			binder := tc.binder
			if binder == (Binder{}) {
				binder = web
			}
			tags := map[string]string{"team": "shop", TagKey: tc.value}
			if tc.untagged {
				delete(tags, TagKey)
			}
			if got := binder.Refusal(tags); got != tc.want {
				t.Errorf("refusal of %q:\n got %q\nwant %q", tc.value, got, tc.want)
			}
		})
	}
}

// A group that was made for an Ingress says itself whose it is: bindings of that namespace in that cluster need no tag, all others do.
func TestGroupsOfIngressesAreTheirNamespaces(t *testing.T) {
	for name, tc := range map[string]struct {
		cluster, part, value string
		binder               Binder
		allowed              bool
	}{
		"its own":                           {"prod", "shop/edge-web:80", "", web, true},
		"its own, and consent to others":    {"prod", "shop/edge-web:80", "test/till", web, true},
		"name to be generated":              {"prod", "shop/edge-web:80", "", Binder{Cluster: "prod", Namespace: "shop"}, true},
		"another namespace's":               {"prod", "till/edge-web:80", "", web, false},
		"another namespace's, with consent": {"prod", "till/edge-web:80", "prod/shop", web, true},
		"part of the namespace's name":      {"prod", "shop-2/edge-web:80", "", web, false},
		"another cluster's":                 {"test", "shop/edge-web:80", "", web, false},
		"no cluster's":                      {"", "shop/edge-web:80", "", web, false},
		"not of an Ingress":                 {"prod", "", "", web, false},
		"of what stands in front":           {"prod", "FrontendNlb-tg-TCP-80", "", web, false},
		"nothing is known of the binder":    {"", "/x", "", Binder{Name: "web"}, false},
	} {
		tags := map[string]string{clusterTag: tc.cluster, partTag: tc.part, TagKey: tc.value}
		if refusal := tc.binder.Refusal(tags); (refusal == "") != tc.allowed {
			t.Errorf("%s: refusal %q, want it allowed: %t", name, refusal, tc.allowed)
		}
	}
}

func TestCheckCluster(t *testing.T) {
	for name, ok := range map[string]bool{
		"prod": true, "prod_eu-1.example": true, "1": true, "prod+": true,
		"": false, "prod eu": false, "prod/eu": false, "+": false, "*": false, "prod*": false, "prod\n": false,
	} {
		if err := CheckCluster(name); (err == nil) != ok {
			t.Errorf("cluster %q: %v", name, err)
		}
	}
}

// Whatever a tag says: it lets in only whom one of its entries names, part by part, what it is told to add lets the binding in,
// and nobody reads the tag's own words.
func FuzzRefusalByTag(f *testing.F) {
	for _, value := range []string{"", "prod/shop", "prod/shop/web test/+", "+/+", "*/*/*", "prod//", "\u00a0prod/shop", strings.Repeat("a/b ", 60)} {
		f.Add(value, "prod", "shop", "web")
	}
	f.Fuzz(func(t *testing.T, value, cluster, namespace, name string) {
		b := Binder{Cluster: cluster, Namespace: namespace, Name: name}
		if CheckCluster(cluster) != nil || !isName(namespace) || !isName(name) {
			return
		}
		refusal := b.Refusal(map[string]string{TagKey: value})
		if named := namedByHand(value, b); (refusal == "") != named {
			t.Fatalf("%+v and %q: refusal %q, want one: %t", b, value, refusal, !named)
		}
		if refusal != "" && b.Refusal(map[string]string{TagKey: value + " " + b.entry()}) != "" {
			t.Fatalf("%+v is refused with what it is told to add to %q", b, value)
		}
		if len(refusal) > 700+2*len(cluster)+2*len(namespace)+2*len(name) {
			t.Fatalf("a refusal of %d bytes", len(refusal))
		}
	})
}

// isName reports whether Kubernetes would take it.
func isName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789.-") == ""
}

// namedByHand says the same as the grammar, in another way.
func namedByHand(value string, b Binder) bool {
	for _, entry := range strings.FieldsFunc(value, unicode.IsSpace) {
		for _, cluster := range []string{b.Cluster, "+", "*"} {
			for _, namespace := range []string{b.Namespace, "+", "*"} {
				for _, name := range []string{"", "/" + b.Name, "/+", "/*"} {
					if entry == cluster+"/"+namespace+name {
						return true
					}
				}
			}
		}
	}
	return false
}
