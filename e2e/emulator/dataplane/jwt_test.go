// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/routing"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

func encode(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func sign(t *testing.T, key *rsa.PrivateKey, claims map[string]any) string {
	t.Helper()
	token := encode(t, map[string]string{"alg": "RS256", "kid": "one"}) + "." + encode(t, claims)
	digest := sha256.Sum256([]byte(token))
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	return token + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func newKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// publish is the endpoint of a set of keys.
func publish(t *testing.T, key *rsa.PrivateKey) string {
	t.Helper()
	n := base64.RawURLEncoding.EncodeToString(key.N.Bytes())
	server := httptest.NewTLSServer(says(`{"keys":[{"kty":"RSA","kid":"one","e":"AQAB","n":"` + n + `"}]}`))
	t.Cleanup(server.Close)
	return server.URL
}

// Only tokens pass that the issuer has signed, that hold now, and that have the claims.
func TestTokens(t *testing.T) {
	b := newBed(t, state.Application, Options{})
	key, other := newKey(t), newKey(t)
	keys := publish(t, key)
	wanted := &routing.JWTAuth{JWKS: keys, Issuer: "i", Claims: []routing.Claim{
		{Format: routing.ClaimString, Name: "tier", Values: []string{"gold", "silver"}},
		{Format: routing.ClaimArray, Name: "groups", Values: []string{"staff"}},
		{Format: routing.ClaimWords, Name: "scope", Values: []string{"read"}},
	}}
	now := time.Now().Unix()
	for name, tc := range map[string]struct {
		key    *rsa.PrivateKey
		change map[string]any
		want   bool
	}{
		"fits":             {key, nil, true},
		"another key":      {other, nil, false},
		"another issuer":   {key, map[string]any{"iss": "j"}, false},
		"expired":          {key, map[string]any{"exp": now - 10}, false},
		"without an end":   {key, map[string]any{"exp": nil}, false},
		"not yet":          {key, map[string]any{"nbf": now + 60}, false},
		"another value":    {key, map[string]any{"tier": "bronze"}, false},
		"not in the array": {key, map[string]any{"groups": []string{"guests"}}, false},
		"no such word":     {key, map[string]any{"scope": "write readers"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			claims := map[string]any{"iss": "i", "exp": now + 600, "tier": "gold", "groups": []string{"a", "staff"}, "scope": "write read"}
			maps.Copy(claims, tc.change)
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.Header.Set("Authorization", "Bearer "+sign(t, tc.key, claims))
			if got := b.plane.hasToken(r, wanted); got != tc.want {
				t.Errorf("passes: %t, want %t", got, tc.want)
			}
		})
	}
}

// A rule that wants a token lets requests with one pass.
func TestTokenPasses(t *testing.T) {
	b := newBed(t, state.Application, Options{})
	key := newKey(t)
	keys := publish(t, key)
	listener, get := b.tlsListener()
	action := routing.Action{Auth: &routing.Auth{JWT: &routing.JWTAuth{JWKS: keys, Issuer: "i"}}, Fixed: &routing.FixedResponse{Status: "200"}}
	if _, err := b.machine.ModifyListener(listener.ARN, state.ListenerSpec{Default: action}); err != nil {
		t.Fatal(err)
	}
	b.eventually("the rule", func() bool { status, _, err := get("/"); return err == nil && status == http.StatusUnauthorized })
	token := sign(t, key, map[string]any{"iss": "i", "exp": time.Now().Unix() + 600})
	if got := ask(t, b.plane.ListenerDoor(listener.ARN), "/", http.Header{"Authorization": {"Bearer " + token}}); got.status != http.StatusOK {
		t.Errorf("status %d, want the token to pass", got.status)
	}
}
