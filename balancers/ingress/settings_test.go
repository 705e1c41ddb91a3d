// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/reading"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/v1beta1"
)

// Params count before annotations; some of them count from the first member alone.
func TestParams(t *testing.T) {
	in := three(t)
	for i := range in.AWS.Subnets {
		in.AWS.Subnets[i].IPv6 = true
	}
	attribute := func(key, value string) []v1beta1.Attribute { return []v1beta1.Attribute{{Key: key, Value: value}} }
	in.Members[0].Params = &v1beta1.IngressClassParams{Spec: v1beta1.IngressClassParamsSpec{
		Scheme: new("internet-facing"), IPAddressType: new("dualstack"), LoadBalancerName: "params",
		Subnets:      &v1beta1.Subnets{IDs: []v1beta1.SubnetID{"subnet-a1", "subnet-b1"}},
		InboundCIDRs: []string{"10.0.0.0/8"}, LegacyPrefixListsIDs: []string{"pl-1"},
		MinimumLoadBalancerCapacity: &v1beta1.MinimumLoadBalancerCapacity{CapacityUnits: 100},
		IPAMConfiguration:           &v1beta1.IPAMConfiguration{IPv4IPAMPoolID: new("ipam-pool-1")},
		CertificateArn:              []string{certARN("params")}, SSLPolicy: "params", SSLRedirectPort: "443", WAFv2ACLArn: aclARN("params"),
		LoadBalancerAttributes: attribute("k", "params"),
		Listeners: []v1beta1.Listener{
			{Protocol: "HTTPS", Port: 443, ListenerAttributes: attribute("k", "params")}, {Protocol: "HTTPS", Port: 8443, ListenerAttributes: attribute("k", "params")},
		},
		Tags: []v1beta1.Tag{{Key: "k", Value: "params"}},
	}}
	in.Members[1].Params = &v1beta1.IngressClassParams{Spec: v1beta1.IngressClassParamsSpec{
		LoadBalancerAttributes: append(attribute("k", "second"), attribute("other", "second")...),
	}}
	for name, value := range map[string]string{
		"scheme": "internal", "ip-address-type": "ipv4", "load-balancer-name": "annotation", "subnets": "subnet-a2,subnet-b2", "inbound-cidrs": "11.0.0.0/8",
		"security-group-prefix-lists": "pl-2", "certificate-arn": certARN("annotation"), "ssl-policy": "annotation", "ssl-redirect": "80", "wafv2-acl-arn": aclARN("annotation"),
		"minimum-load-balancer-capacity": "CapacityUnits=50", "ipam-ipv4-pool-id": "ipam-pool-2",
	} {
		annotate(&in, 0, annotation.Prefix+name, value)
	}
	for i := range in.Members { // the keys that the first member's params say hold for all
		annotate(&in, i, annotation.Prefix+"load-balancer-attributes", fmt.Sprintf("k=%d", i))
		annotate(&in, i, annotation.Prefix+"listener-attributes.HTTPS-443", fmt.Sprintf("k=%d", i))
		annotate(&in, i, annotation.Prefix+"tags", fmt.Sprintf("k=%d", i))
	}
	got, faults := Build(in)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	tags := func(s string) map[string]string {
		tags := stack.Tags("prod-1", stack.Ingresses, "edge", s)
		tags["k"] = "params"
		return tags
	}
	balancer := got.LoadBalancers[0]
	for i := range balancer.Listeners {
		balancer.Listeners[i].Rules = nil
	}
	if diff := cmp.Diff(stack.LoadBalancer{
		Name: "params", Scheme: "internet-facing", AddressType: "dualstack", Subnets: []string{"subnet-a1", "subnet-b1"},
		SecurityGroups: []stack.Ref{{Part: "ManagedLBSecurityGroup"}, {Part: "backend-sg"}},
		Attributes:     map[string]string{"k": "params"}, Tags: tags("LoadBalancer"), WebACL: new(aclARN("params")),
		Capacity: new(int32(100)), IPAMPool: "ipam-pool-1",
		Listeners: []stack.Listener{
			{Port: 80, Protocol: "HTTP", Default: reading.RedirectAll("443"), Tags: tags("80")},
			{
				Port: 443, Protocol: "HTTPS", SSLPolicy: "params", Certificates: []string{certARN("params"), "arn:acm:wild"},
				Default: reading.FixedResponse("404", "text/plain", ""), Attributes: map[string]string{"k": "params"}, Tags: tags("443"),
			},
		},
	}, balancer, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(stack.LoadBalancer{}, "SpareName"),
		cmpopts.IgnoreFields(stack.Listener{}, "Owners")); diff != "" {
		t.Errorf("load balancer (-want +got):\n%s", diff)
	}
	var sources []string
	for _, rule := range got.SecurityGroups[0].Inbound {
		sources = append(sources, fmt.Sprint(rule.From, " ", rule.Source))
	}
	if diff := cmp.Diff([]string{"80 10.0.0.0/8", "80 pl-1", "443 10.0.0.0/8", "443 pl-1"}, sources); diff != "" {
		t.Errorf("inbound rules (-want +got):\n%s", diff)
	}
}

// The certificates of a port are those of all members, the default one the first of the first that has one.
func TestCertificates(t *testing.T) {
	in := three(t)
	in.AWS.Certificates = []lookup.Certificate{
		{ARN: certARN("z"), Domains: []string{"a.example.com", "other"}}, {ARN: certARN("y"), Domains: []string{"*.EXAMPLE.com"}},
		{ARN: "x", Domains: []string{"*.a.example.com"}}, {ARN: "w", Domains: []string{"example.com"}}, {ARN: "v", Domains: []string{"*.b.example.com"}},
	}
	annotate(&in, 1, annotation.Prefix+"certificate-arn", certARN("second")+","+certARN("z")+","+certARN("second"))
	annotate(&in, 1, annotation.Prefix+"group.order", "5")
	got, faults := Build(in)
	if diff := cmp.Diff([]string{certARN("y"), certARN("z"), certARN("second")}, got.LoadBalancers[0].Listeners[1].Certificates); diff != "" || len(faults) > 0 {
		t.Errorf("faults %v, certificates (-want +got):\n%s", faults, diff)
	}
}

func TestWarnings(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations map[string]string // of shop/b
		params      v1beta1.IngressClassParamsSpec
		do          func(*networkingv1.Ingress)
		want        []string
	}{
		"an annotation that is none":        {annotations: map[string]string{"shceme": "internal"}, want: []string{`annotation alb.ingress.kubernetes.io/shceme, value "internal": there is no annotation with this name, so it is ignored: check the spelling`}},
		"issuing, without its gate":         {annotations: map[string]string{"create-acm-cert": "true", "listen-ports": `[{"HTTPS":443}]`}, want: []string{"needs the feature gate EnableCertificateManagement"}},
		"issuing, without HTTPS":            {annotations: map[string]string{"create-acm-cert": "true", "listen-ports": `[{"HTTP":80}]`}, want: []string{"no listener of this Ingress is for HTTPS"}},
		"no authentication":                 {annotations: map[string]string{"auth-type": "none"}},
		"a wrong value that nothing needs":  {annotations: map[string]string{"listener-attributes.HTTP-8080": "k"}, want: []string{"has no equals sign"}},
		"conditions of no field":            {annotations: map[string]string{"conditions.b": `[{"field":"x"},{"field":"y"}]`}, want: []string{`[0], field "x": this field is not known, so the condition is ignored: must be host-header, path-pattern, `}},
		"a port twice":                      {annotations: map[string]string{"listen-ports": `[{"HTTP":80},{"HTTPS":443},{"HTTP":80}]`}, want: []string{"port 80 is listed twice, and its protocol is HTTP: list it once"}},
		"an empty web ACL":                  {annotations: map[string]string{"wafv2-acl-arn": ""}, want: []string{"is empty, so it is ignored, and a web ACL that is there stays"}},
		"TLS that nobody listens for":       {annotations: map[string]string{"listen-ports": `[{"HTTP": 80}]`}, do: func(i *networkingv1.Ingress) { i.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"a"}}} }, want: []string{"all listeners of this Ingress are for HTTP"}},
		"no subnets":                        {annotations: map[string]string{"subnets": ""}, want: []string{`subnets, value "": is empty, so it is ignored: set IDs`}},
		"no security groups":                {annotations: map[string]string{"security-groups": ","}, want: []string{`security-groups, value ",": is empty`}},
		"rules for no security groups":      {annotations: map[string]string{"manage-backend-security-group-rules": "true"}, want: []string{"is used only with alb.ingress.kubernetes.io/security-groups, which no Ingress of the group has"}},
		"a redirect of params that is none": {params: v1beta1.IngressClassParamsSpec{SSLRedirectPort: "https"}, want: []string{"nothing is redirected"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := three(t)
			for key, value := range tc.annotations {
				annotate(&in, 1, annotation.Prefix+key, value)
			}
			if tc.do != nil {
				tc.do(in.Members[1].Ingress)
			}
			in.Members[1].Params = &v1beta1.IngressClassParams{Spec: tc.params}
			in.Members[1].Params.Name = "p"
			got, faults := Build(in)
			if len(faults) != len(tc.want) || got.Members[1].Held {
				t.Fatalf("held: %v, faults %v", got.Members[1].Held, faults)
			}
			for i, fault := range faults {
				if !strings.Contains(fault.Error(), tc.want[i]) || !fault.IsWarning() || fault.Member != "shop/b" {
					t.Errorf("fault %+v, want %s", fault, tc.want[i])
				}
			}
			if acl := got.LoadBalancers[0].WebACL; acl != nil {
				t.Errorf("web ACL %v", *acl)
			}
		})
	}
}

// A redirect of the group takes the rules away of an Ingress that listens for HTTP alone: that one is told.
func TestRedirectTakesRulesAway(t *testing.T) {
	in := three(t)
	annotate(&in, 0, annotation.Prefix+"ssl-redirect", "443")
	annotate(&in, 2, annotation.Prefix+"listen-ports", `[{"HTTP":80}]`)
	got, faults := Build(in)
	if len(faults) != 1 || faults[0].Member != "shop/c" || !faults[0].IsWarning() ||
		!strings.Contains(faults[0].Error(), "alb.ingress.kubernetes.io/ssl-redirect of Ingress shop/a says") {
		t.Errorf("faults %+v", faults)
	}
	if slices.ContainsFunc(got.TargetGroups, func(g stack.TargetGroup) bool { return g.Owner == "shop/c" }) || len(lines(got, 80)) != 0 || len(lines(got, 443)) != 4 {
		t.Errorf("rules %v, %v", lines(got, 80), lines(got, 443))
	}
}

// A port of one member's params that cannot be read switches the redirect of the whole group off, and those who ask for it are told.
func TestWrongRedirectOfParamsHoldsForAll(t *testing.T) {
	in := three(t)
	annotate(&in, 0, annotation.Prefix+"ssl-redirect", "443")
	in.Members[1].Params = &v1beta1.IngressClassParams{Spec: v1beta1.IngressClassParamsSpec{SSLRedirectPort: "https"}}
	in.Members[1].Params.Name = "p"
	got, faults := Build(in)
	if len(lines(got, 80)) != 6 {
		t.Errorf("rules %v, want those of all three on port 80", lines(got, 80))
	}
	if len(faults) != 2 || faults[0].Member != "shop/a" || !faults[0].IsWarning() || !strings.Contains(faults[0].Error(),
		`ssl-redirect, value "443": spec.sslRedirectPort of IngressClassParams p, which Ingress shop/b has, cannot be read`) {
		t.Errorf("faults %v", faults)
	}
}

// Default backends of a listener that redirects stand in nobody's way; without the redirect it has one.
func TestRedirectTakesDefaultBackendsAway(t *testing.T) {
	in := three(t)
	annotate(&in, 0, annotation.Prefix+"ssl-redirect", "443")
	annotate(&in, 1, annotation.Prefix+"listen-ports", `[{"HTTP":80},{"HTTPS":8443}]`)
	for _, member := range in.Members[:2] {
		member.Ingress.Spec.DefaultBackend = &member.Ingress.Spec.Rules[0].HTTP.Paths[0].Backend
	}
	got, faults := Build(in)
	if len(faults) > 0 || got.Members[1].Held {
		t.Errorf("members %+v, faults %v", got.Members, faults)
	}
	for i, want := range []string{"", "shop/a-a:80", "shop/b-b:80"} {
		l := got.LoadBalancers[0].Listeners[i]
		if groups := reading.GroupsOf(l.Default); strings.Join(groups, ",") != want {
			t.Errorf("by default port %d sends to %q, want %q", l.Port, groups, want)
		}
	}
	annotate(&in, 0, annotation.Prefix+"ssl-redirect", "8080")
	if got, faults = Build(in); !got.Members[0].Held || got.Members[1].Held {
		t.Errorf("members %+v, want the first held that redirects to no listener; faults %v", got.Members, faults)
	}
	delete(in.Members[0].Ingress.Annotations, annotation.Prefix+"ssl-redirect")
	if got, faults = Build(in); got.Members[0].Held || !got.Members[1].Held || len(faults) != 1 || !strings.Contains(faults[0].Error(), "port 80 has the default backend of Ingress shop/a") {
		t.Errorf("members %+v, want the second held; faults %v", got.Members, faults)
	}
}

// At a quota the member is held that wants something new, whatever its place; what is held counts as well.
func TestQuotaHoldsWhoGrows(t *testing.T) {
	in := three(t)
	in.Options.Limits.Rules = 13
	before, _ := Build(in)
	in.Seen = made(before)
	in.Options.Limits.Rules = 5 // what is there already is not the members' fault
	if got, faults := Build(in); len(faults) > 0 || len(rulesOf(got, "")) != 2 {
		t.Errorf("faults %v", faults)
	}
	in.Options.Limits.Rules = 13
	paths := &in.Members[0].Ingress.Spec.Rules[0].HTTP.Paths
	more := (*paths)[0]
	more.Path = "/more"
	*paths = append(*paths, more)
	got, faults := Build(in)
	if !got.Members[0].Held || got.Members[1].Held || got.Members[2].Held || !strings.Contains(faults[0].Error(), "would have 14 rules, and its quota is 13") {
		t.Errorf("members %+v, faults %v", got.Members, faults)
	}
	*paths = (*paths)[:2]
	broken(&in) // shop/b keeps its 4 rules
	paths = &in.Members[2].Ingress.Spec.Rules[0].HTTP.Paths
	*paths = append(*paths, more)
	if got, _ = Build(in); got.Members[0].Held || !got.Members[1].Held || !got.Members[2].Held {
		t.Errorf("members %+v", got.Members)
	}
	in.Options.Limits.Rules = 14
	if got, _ = Build(in); got.Members[2].Held {
		t.Errorf("members %+v", got.Members)
	}
	in.Options.Limits.Rules = 13
	*paths = slices.Delete(*paths, 0, 1) // its rule is not the held member's, and makes room
	if got, _ = Build(in); got.Members[0].Held || !got.Members[1].Held || got.Members[2].Held {
		t.Errorf("members %+v", got.Members)
	}
}

// What a held member may have named stays, too.
func TestAttributesThatNothingNamesHaveDefaults(t *testing.T) {
	in := three(t)
	annotate(&in, 0, annotation.Prefix+"load-balancer-attributes", "idle_timeout.timeout_seconds=30")
	annotate(&in, 0, annotation.Prefix+"target-group-attributes", "slow_start.duration_seconds=60")
	if got, _ := Build(in); got.LoadBalancers[0].Presets != nil || got.LoadBalancers[0].Listeners[0].Presets != nil || got.TargetGroups[0].Presets != nil {
		t.Errorf("presets of the load balancer %v and its target group %v, want none", got.LoadBalancers[0].Presets, got.TargetGroups[0].Presets)
	}
	in.Options.ResetAttributes = true
	check := func(what string, presets map[string]string, want map[string]string, without ...string) {
		t.Helper()
		for key, value := range want {
			if got, ok := presets[key]; !ok || got != value {
				t.Errorf("%s: %s goes back to %q, want %q", what, key, got, value)
			}
		}
		for _, key := range without {
			if got, ok := presets[key]; ok {
				t.Errorf("%s: %s goes back to %q, want it to stay", what, key, got)
			}
		}
	}
	got, faults := Build(in)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	check("load balancer", got.LoadBalancers[0].Presets, map[string]string{"routing.http2.enabled": "true"},
		"idle_timeout.timeout_seconds", "deletion_protection.enabled")
	check("listener", got.LoadBalancers[0].Listeners[0].Presets, map[string]string{
		"routing.http.response.server.enabled": "true", "routing.http.response.x_frame_options.header_value": "",
	})
	for _, group := range got.TargetGroups {
		if group.Owner == got.Members[0].Name {
			check("target group", group.Presets, map[string]string{"deregistration_delay.timeout_seconds": "300"}, "slow_start.duration_seconds")
		}
	}
	in.Members[2].Fault = &fault.Fault{Reason: "held"}
	in.Seen = got
	in.Seen.LoadBalancers[0].Attributes = map[string]string{"routing.http2.enabled": "false"}
	got, _ = Build(in)
	check("load balancer of a held member", got.LoadBalancers[0].Presets, nil, "routing.http2.enabled")

	in.Members[2].Fault = nil
	in.Seen.LoadBalancers[0].Listeners[0].Attributes = map[string]string{"routing.http.response.server.enabled": "false"}
	annotate(&in, 2, annotation.Prefix+"listener-attributes.HTTP-80", "routing.http.response.server.enabled=false")
	annotate(&in, 2, annotation.Prefix+"listen-ports", "80")
	got, _ = Build(in)
	check("listener of a member whose ports cannot be read", got.LoadBalancers[0].Listeners[0].Presets, nil, "routing.http.response.server.enabled")
}

// The name of a web ACL counts before an ARN, and what params say before what annotations do.
func TestWebACLByName(t *testing.T) {
	known := map[string]lookup.Named{"a": {ARN: aclARN("a")}, "p": {ARN: aclARN("p")}, "hidden": {Reason: "access denied"}}
	for name, tc := range map[string]struct {
		annotations map[string]string
		params      v1beta1.IngressClassParamsSpec
		want, fault string
	}{
		"an ARN":              {annotations: map[string]string{"wafv2-acl-arn": aclARN("x")}, want: aclARN("x")},
		"a name":              {annotations: map[string]string{"wafv2-acl-name": "a"}, want: aclARN("a")},
		"a name, not the ARN": {annotations: map[string]string{"wafv2-acl-name": "a", "wafv2-acl-arn": aclARN("x")}, want: aclARN("a")},
		"none":                {annotations: map[string]string{"wafv2-acl-name": "none"}},
		"a name of params": {
			annotations: map[string]string{"wafv2-acl-name": "a"}, params: v1beta1.IngressClassParamsSpec{WAFv2ACLName: "p", WAFv2ACLArn: aclARN("x")},
			want: aclARN("p"),
		},
		"an ARN of params": {
			annotations: map[string]string{"wafv2-acl-arn": aclARN("a")}, params: v1beta1.IngressClassParamsSpec{WAFv2ACLArn: aclARN("x")}, want: aclARN("x"),
		},
		"a name, not the ARN of params": {
			annotations: map[string]string{"wafv2-acl-name": "a"}, params: v1beta1.IngressClassParamsSpec{WAFv2ACLArn: aclARN("x")}, want: aclARN("a"),
		},
		"a name that cannot be looked up": {
			annotations: map[string]string{"wafv2-acl-name": "hidden"}, fault: `regional web ACL "hidden" could not be looked up: access denied`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := three(t)
			in.AWS.WebACLs = known
			in.Members[1].Params = &v1beta1.IngressClassParams{Spec: tc.params}
			for name, value := range tc.annotations {
				annotate(&in, 1, annotation.Prefix+name, value)
			}
			got, faults := Build(in)
			if acl := got.LoadBalancers[0].WebACL; tc.fault == "" && (acl == nil || *acl != tc.want) {
				t.Errorf("web ACL %v, want %q; faults %v", acl, tc.want, faults)
			}
			if tc.fault != "" && (!got.Members[1].Held || !strings.Contains(fmt.Sprint(faults), tc.fault)) {
				t.Errorf("held %v, faults %v, want %q", got.Members[1].Held, faults, tc.fault)
			}
			needs := input.NeedsOf(in).WebACLs
			if wants := strings.HasPrefix(name, "a name"); (len(needs) == 1) != wants {
				t.Errorf("looked up: %v", needs)
			}
		})
	}
}

// Who gives an ARN follows those who name a web ACL, and is told. Without a name that is good the ARN counts, and so it does while the load
// balancer has it: a new name takes nobody's web ACL away.
func TestNameOfWebACLCountsBeforeARNsOfOthers(t *testing.T) {
	for name, tc := range map[string]struct {
		seen, want, wantHeld string // wantHeld: while the member with the name is held
		fault, told          string
	}{
		"a new load balancer":       {want: aclARN("a"), wantHeld: aclARN("x"), fault: "a name takes precedence over an ARN", told: "shop/a"},
		"one with that of the name": {seen: aclARN("a"), want: aclARN("a"), wantHeld: aclARN("a"), fault: "a name takes precedence over an ARN", told: "shop/a"},
		"one with that of the ARN":  {seen: aclARN("x"), want: aclARN("x"), wantHeld: aclARN("x"), fault: "set the same, or nothing", told: "shop/b"},
	} {
		t.Run(name, func(t *testing.T) {
			in := three(t)
			in.AWS.WebACLs = map[string]lookup.Named{"a": {ARN: aclARN("a")}}
			if tc.seen != "" {
				before, _ := Build(in)
				in.Seen = made(before)
				in.Seen.LoadBalancers[0].WebACL = &tc.seen
			}
			annotate(&in, 0, annotation.Prefix+"wafv2-acl-arn", aclARN("x"))
			annotate(&in, 1, annotation.Prefix+"wafv2-acl-name", "a")
			got, faults := Build(in)
			if acl := got.LoadBalancers[0].WebACL; acl == nil || *acl != tc.want {
				t.Errorf("web ACL %v, want %s", acl, tc.want)
			}
			if len(faults) != 1 || faults[0].Member != tc.told || faults[0].IsWarning() == got.Members[1].Held || !strings.Contains(faults[0].Error(), tc.fault) {
				t.Errorf("faults %v", faults)
			}
			annotate(&in, 1, annotation.Prefix+"scheme", "public")
			got, _ = Build(in)
			if acl := got.LoadBalancers[0].WebACL; acl == nil || *acl != tc.wantHeld || !got.Members[1].Held || got.Members[0].Held {
				t.Errorf("web ACL %v of members %+v, want %s", acl, got.Members, tc.wantHeld)
			}
		})
	}
}

// A protection needs a subscription. Without one, and with --enable-shield=false, what there is stays.
func TestShield(t *testing.T) {
	in := three(t)
	annotate(&in, 1, annotation.Prefix+"shield-advanced-protection", "true")
	if got, faults := Build(in); got.LoadBalancers[0].Shield == nil || !*got.LoadBalancers[0].Shield || len(faults) > 0 {
		t.Errorf("protection %v, faults %v", got.LoadBalancers[0].Shield, faults)
	}
	if !input.NeedsOf(in).Shield {
		t.Error("the subscription is not looked at")
	}
	off := in
	off.Options.Shield = false
	if got, faults := Build(off); got.LoadBalancers[0].Shield != nil || len(faults) > 0 {
		t.Errorf("protection %v, faults %v with --enable-shield=false", got.LoadBalancers[0].Shield, faults)
	}
	in.AWS.NoShield = "the account has no subscription"
	got, faults := Build(in)
	if got.LoadBalancers[0].Shield != nil || len(faults) != 1 || !faults[0].IsWarning() || !strings.Contains(faults[0].Reason, "no subscription") {
		t.Errorf("protection %v, faults %v without a subscription", got.LoadBalancers[0].Shield, faults)
	}
}
