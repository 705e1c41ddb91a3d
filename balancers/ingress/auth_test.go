// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
)

// rulesByPort are the rules of a member in a stack.
func rulesByPort(s stack.Stack, owner string) map[int32][]stack.Rule {
	out := map[int32][]stack.Rule{}
	for _, listener := range s.LoadBalancers[0].Listeners {
		for _, rule := range listener.Rules {
			if rule.Owner == owner {
				out[listener.Port] = append(out[listener.Port], rule)
			}
		}
	}
	return out
}

const cognitoPool = `{"userPoolARN":"arn:aws:cognito-idp:eu-west-1:1:userpool/p","userPoolClientID":"id","userPoolDomain":"shop",` +
	`"authenticationRequestExtraParams":{"display":"page"}}`

// Users log in over HTTPS, before each rule of the member.
func TestWhoMayPass(t *testing.T) {
	oidc := func(in *input.Input, b *networkingv1.Ingress) { login("good", nil)(in, b) }
	ofOIDC := stack.OIDC{
		Issuer: "https://idp", AuthorizationEndpoint: "https://idp/a", TokenEndpoint: "https://idp/t", UserInfoEndpoint: "https://idp/u",
		ClientID: "id", Secret: "hidden", Version: "uid/1",
		Session: stack.Session{Scope: "openid", Cookie: "AWSELBAuthSessionCookie", Timeout: 604800, Unauthenticated: "authenticate"},
	}
	cognito := func(_ *input.Input, b *networkingv1.Ingress) {
		for name, value := range map[string]string{
			"auth-type": "cognito", "auth-idp-cognito": cognitoPool, "auth-scope": "email", "auth-session-cookie": "c", "auth-session-timeout": "60",
			"auth-on-unauthenticated-request": "deny",
		} {
			b.Annotations[annotation.Prefix+name] = value
		}
	}
	for name, tc := range map[string]struct {
		do          func(*input.Input, *networkingv1.Ingress)
		path, other *stack.Auth // of the rule that forwards to the Service alone, and of the other one
	}{
		"nobody is asked": {func(*input.Input, *networkingv1.Ingress) {}, nil, nil},
		"OIDC":            {oidc, &stack.Auth{OIDC: &ofOIDC}, &stack.Auth{OIDC: &ofOIDC}},
		"Cognito": {cognito, &stack.Auth{Cognito: &stack.Cognito{
			UserPoolARN: "arn:aws:cognito-idp:eu-west-1:1:userpool/p", ClientID: "id", Domain: "shop",
			Session: stack.Session{Scope: "email", Cookie: "c", Timeout: 60, Unauthenticated: "deny", Extra: map[string]string{"display": "page"}},
		}}, nil},
		"the Service says no": {func(in *input.Input, b *networkingv1.Ingress) {
			oidc(in, b)
			annotateService("auth-type", "none")(in, b)
		}, nil, &stack.Auth{OIDC: &ofOIDC}},
		"the Service says yes": {func(in *input.Input, b *networkingv1.Ingress) {
			oidc(in, b)
			delete(b.Annotations, annotation.Prefix+"auth-type")
			annotateService("auth-type", "oidc")(in, b)
		}, &stack.Auth{OIDC: &ofOIDC}, nil},
		"tokens": {func(_ *input.Input, b *networkingv1.Ingress) {
			b.Annotations[annotation.Prefix+"jwt-validation"] = `{"jwksEndpoint":"https://idp/j","issuer":"idp",` +
				`"additionalClaims":[{"format":"string-array","name":"aud","values":["shop"]}]}`
		}, &stack.Auth{JWT: &stack.JWT{
			JWKSEndpoint: "https://idp/j", Issuer: "idp", Claims: []stack.Claim{{Format: "string-array", Name: "aud", Values: []string{"shop"}}},
		}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := three(t)
			tc.do(&in, in.Members[1].Ingress)
			if name == "Cognito" || name == "tokens" {
				tc.other = tc.path
			}
			got, faults := Build(in)
			rules := rulesByPort(got, "shop/b")
			if len(rules[80]) != 2 || len(rules[443]) != 2 {
				t.Fatalf("rules %v, faults %v", rules, faults)
			}
			for i, want := range []*stack.Auth{tc.other, tc.path} {
				if diff := cmp.Diff(want, rules[443][i].Action.Auth); diff != "" {
					t.Errorf("rule %d (-want +got):\n%s", i, diff)
				}
				if rules[80][i].Action.Auth != nil {
					t.Errorf("rule %d asks over HTTP", i)
				}
				version := rules[443][i].Action.SecretVersion()
				if rules[443][i].Tags[stack.SecretTag] != version || rules[80][i].Tags[stack.SecretTag] != "" {
					t.Errorf("rule %d: tags %v, %v, want version %q", i, rules[443][i].Tags, rules[80][i].Tags, version)
				}
			}
			isOpen := func(f fault.Fault) bool {
				return f.IsWarning() && strings.Contains(f.Reason, "port 80 serves without authentication")
			}
			if warned := slices.ContainsFunc(faults, isOpen); warned != (tc.path != nil || tc.other != nil) {
				t.Errorf("warned of the port without authentication: %v", warned)
			}
		})
	}
}

// The default backend of an Ingress asks as its rules do.
func TestDefaultBackendAsksWhoMayPass(t *testing.T) {
	in := three(t)
	b := in.Members[1].Ingress
	login("good", nil)(&in, b)
	b.Spec.DefaultBackend = &b.Spec.Rules[0].HTTP.Paths[0].Backend
	got, _ := Build(in)
	http, https := got.LoadBalancers[0].Listeners[0], got.LoadBalancers[0].Listeners[1]
	if http.Default.Auth != nil || https.Default.Auth == nil || https.Tags[stack.SecretTag] != "uid/1" {
		t.Errorf("by default %+v over HTTP, %+v with tags %v over HTTPS", http.Default, https.Default, https.Tags)
	}
}

// A Secret is needed where a login is, which the Service may say.
func TestSecretsOf(t *testing.T) {
	in := three(t)
	b := in.Members[1].Ingress
	login("mine", nil)(&in, b)
	if got := input.SecretsOf(in); !slices.Equal(got, []types.NamespacedName{{Namespace: "shop", Name: "mine"}}) {
		t.Errorf("Secrets %v", got)
	}
	delete(b.Annotations, annotation.Prefix+"auth-type")
	if got := input.SecretsOf(in); len(got) > 0 {
		t.Errorf("Secrets %v without a login", got)
	}
	serviceOf(in.Services, "b").Annotations = map[string]string{
		annotation.Prefix + "auth-type": "oidc", annotation.Prefix + "auth-idp-oidc": strings.ReplaceAll(b.Annotations[annotation.Prefix+"auth-idp-oidc"], "mine", "of-service"),
	}
	if got := input.SecretsOf(in); !slices.Contains(got, types.NamespacedName{Namespace: "shop", Name: "of-service"}) {
		t.Errorf("Secrets %v, want that of the Service", got)
	}
}

func TestReadSecret(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{UID: "u", ResourceVersion: "7"}, Data: map[string][]byte{
		"clientId": []byte("id\n"), "clientSecret": []byte("a secret\r\n\x00"),
	}}
	if diff := cmp.Diff(lookup.Secret{ClientID: "id", Secret: "a secret", Version: "u/7"}, lookup.ReadSecret(secret)); diff != "" {
		t.Errorf("secret (-want +got):\n%s", diff)
	}
}

// The paths of a backend get its transforms, sorted by type.
func TestTransforms(t *testing.T) {
	in := three(t)
	annotate(&in, 1, annotation.Prefix+"transforms.b", `[{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[{"regex":"^/b/(.*)","replace":"/$1"}]}},`+
		`{"type":"host-header-rewrite","hostHeaderRewriteConfig":{"rewrites":[{"regex":"x","replace":"y"}]}}]`)
	got, faults := Build(in)
	rules := rulesByPort(got, "shop/b")[80]
	want := []stack.Transform{
		{Type: "host-header-rewrite", Rewrites: []stack.Rewrite{{Regex: "x", Replace: "y"}}},
		{Type: "url-rewrite", Rewrites: []stack.Rewrite{{Regex: "^/b/(.*)", Replace: "/$1"}}},
	}
	if len(rules) != 2 {
		t.Fatalf("rules %v, faults %v", rules, faults)
	}
	if diff := cmp.Diff(want, rules[1].Transforms); diff != "" || len(rules[0].Transforms) > 0 {
		t.Errorf("transforms (-want +got):\n%s of the other %v", diff, rules[0].Transforms)
	}
}

// What a member says of an HTTPS port holds; others may say the same. Without it what there is stays, unless it is to be reset.
func TestMutualAuthentication(t *testing.T) {
	const store = "arn:aws:elasticloadbalancing:eu-west-1:1:truststore/s/1"
	in := three(t)
	in.AWS.TrustStores = map[string]lookup.Named{"s": {ARN: store}}
	https := func(in input.Input) *stack.MutualAuth {
		got, _ := Build(in)
		if got.LoadBalancers[0].Listeners[0].MutualAuth != nil {
			t.Error("clients are asked for certificates over HTTP")
		}
		return got.LoadBalancers[0].Listeners[1].MutualAuth
	}
	if got := https(in); got != nil {
		t.Errorf("%+v, though nobody says anything", got)
	}
	in.Options.ResetAttributes = true
	if got := https(in); got == nil || *got != (stack.MutualAuth{Mode: "off"}) {
		t.Errorf("%+v, want off", got)
	}
	annotate(&in, 1, annotation.Prefix+"mutual-authentication", `[{"port":443,"mode":"verify","trustStore":"s","ignoreClientCertificateExpiry":true,`+
		`"advertiseTrustStoreCaNames":"on"},{"port":80,"mode":"passthrough"}]`)
	if got := https(in); got == nil || *got != (stack.MutualAuth{Mode: "verify", TrustStore: store, IgnoreExpiry: true, AdvertiseNames: true}) {
		t.Errorf("%+v, want to verify all that is said", got)
	}
	annotate(&in, 1, annotation.Prefix+"mutual-authentication", `[{"port":443,"mode":"verify","trustStore":"gone"},{"port":443,"mode":"passthrough"}]`)
	if got := https(in); got == nil || *got != (stack.MutualAuth{Mode: "passthrough"}) {
		t.Errorf("%+v, want what the last entry of the port says", got)
	}
	if _, faults := Build(in); len(faults) != 1 || !faults[0].IsWarning() || !strings.Contains(faults[0].Reason, "port 443 is listed twice, and the last one is used") {
		t.Errorf("faults %v", faults)
	}
	annotate(&in, 2, annotation.Prefix+"mutual-authentication", `[{"port":443,"mode":"off"}]`)
	got, faults := Build(in)
	if !got.Members[2].Held || got.Members[1].Held {
		t.Errorf("members %+v, want the second that disagrees held; faults %v", got.Members, faults)
	}
}
