// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/acm"
	"github.com/targetgate/targetgate/e2e/emulator/routing"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// tlsListener is the HTTPS listener of the bed, and a client of it.
func (b *bed) tlsListener(certificates ...tls.Certificate) (state.Listener, func(path string) (status int, location string, err error)) {
	b.t.Helper()
	address, err := b.plane.Resolve(b.secure(b.certificate(acm.RSA2048, "a.example.org")), 443)
	if err != nil {
		b.t.Fatal(err)
	}
	listeners, err := b.machine.Listeners(b.lb)
	if err != nil {
		b.t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true, ServerName: "a.example.org", Certificates: certificates,
	}}
	return listeners[len(listeners)-1], func(path string) (int, string, error) {
		request, err := http.NewRequest(http.MethodGet, "https://"+address+path, http.NoBody)
		if err != nil {
			return 0, "", err
		}
		request.Host = "a.example.org"
		response, err := transport.RoundTrip(request)
		if err != nil {
			return 0, "", err
		}
		defer response.Body.Close()
		_, err = io.Copy(io.Discard, response.Body)
		return response.StatusCode, response.Header.Get("Location"), err
	}
}

// Nobody passes who has to log in and has not.
func TestLogins(t *testing.T) {
	b := newBed(t, state.Application, Options{})
	listener, get := b.tlsListener()
	session := func(unauthenticated string) routing.Session { return routing.Session{Unauthenticated: unauthenticated} }
	oidc := func(unauthenticated string) *routing.Auth {
		return &routing.Auth{OIDC: &routing.OIDCAuth{
			Issuer: "https://i", Authorization: "https://i/a", Token: "https://i/t", UserInfo: "https://i/u", ClientID: "id", Secret: "hidden",
			Session: session(unauthenticated),
		}}
	}
	for name, tc := range map[string]struct {
		auth     *routing.Auth
		status   int
		location string
	}{
		"OIDC":    {oidc("authenticate"), http.StatusFound, "https://i/a?client_id=id&redirect_uri=https%3A%2F%2Fa.example.org%2Foauth2%2Fidpresponse"},
		"denied":  {oidc("deny"), http.StatusUnauthorized, ""},
		"allowed": {oidc("allow"), http.StatusOK, ""},
		"Cognito": {
			&routing.Auth{Cognito: &routing.CognitoAuth{UserPool: "p", ClientID: "id", Domain: "d", Session: session("authenticate")}},
			http.StatusFound, "https://d.auth.eu-west-1.amazoncognito.com/oauth2/authorize?client_id=id",
		},
		"no token": {&routing.Auth{JWT: &routing.JWTAuth{JWKS: "https://i/j", Issuer: "i"}}, http.StatusUnauthorized, ""},
	} {
		t.Run(name, func(t *testing.T) {
			action := routing.Action{Auth: tc.auth, Fixed: &routing.FixedResponse{Status: "200"}}
			if _, err := b.machine.ModifyListener(listener.ARN, state.ListenerSpec{Default: action}); err != nil {
				t.Fatal(err)
			}
			b.eventually(name, func() bool {
				status, location, err := get("/")
				return err == nil && status == tc.status && strings.HasPrefix(location, tc.location)
			})
		})
	}
}

// Targets get host and path as the rule makes them.
func TestTransforms(t *testing.T) {
	a := newAPI(t, state.Delays{}, "one")
	_, target := pod(t, "0.20.9", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host+r.URL.RequestURI()) })
	a.group = a.groups["empty"]
	a.register(target)
	_, err := a.machine.CreateRule(state.ListenerRule{
		Listener: a.listener.ARN, Priority: 1, Action: routing.ForwardTo(a.group),
		Conditions: []routing.Condition{{Field: routing.PathPattern, Values: []string{"/old/*"}}},
		Transforms: []routing.Transform{
			{Type: routing.HostRewrite, Regex: `^shop\.`, Replace: "store."}, {Type: routing.URLRewrite, Regex: `^/old/(.*)\?`, Replace: "/new/$1_2?v=2&"},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a.waitHealth(target, state.Healthy)
	a.eventually("the rule", func() bool {
		_, body, _ := a.ask("/old/cart?a=b", "shop.example")
		return body == "store.example/new/cart_2?v=2&a=b"
	})
}

// A listener that verifies lets nobody in without a certificate of its trust store.
func TestClientCertificates(t *testing.T) {
	b := newBed(t, state.Application, Options{})
	listener, get := b.tlsListener()
	store := b.machine.AddTrustStore("partners", x509.NewCertPool())
	set := func(mode, store string) {
		t.Helper()
		if _, err := b.machine.ModifyListener(listener.ARN, state.ListenerSpec{MutualAuth: state.MutualAuth{Mode: mode, TrustStore: store}}); err != nil {
			t.Fatal(err)
		}
	}
	answered := func() bool { _, _, err := get("/"); return err == nil }
	b.eventually("an answer", answered)
	set(state.MutualVerify, store.ARN)
	if answered() {
		t.Error("a client without a certificate is answered")
	}
	set(state.MutualPassthrough, "")
	for begun := time.Now(); !answered(); {
		if time.Since(begun) > 10*time.Second {
			t.Fatal("a client without a certificate is not answered")
		}
	}
}
