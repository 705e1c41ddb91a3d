// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"crypto/tls"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/targetgate/targetgate/e2e/emulator/routing"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// provider knows the user "jane", who has the code "c", and the client "id" with the secret "right".
func provider(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("client_id") != "id" || r.FormValue("client_secret") != "right" || r.FormValue("code") != "c" ||
			r.FormValue("redirect_uri") != "https://a.example.org/oauth2/idpresponse" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"access_token":"t"}`)
	})
	mux.HandleFunc("GET /user", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"sub":"jane"}`)
	})
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

type reply struct {
	status int
	header http.Header
	body   string
}

// ask sends a request to an HTTPS door.
func ask(t *testing.T, address, path string, header http.Header) reply {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, "https://"+address+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "a.example.org"
	maps.Copy(request.Header, header)
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: "a.example.org"}}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, string(text)}
}

// A user who logs in passes, and the target is told who it is. A wrong secret is seen when the user comes back.
func TestLogIn(t *testing.T) {
	b := newBed(t, state.Application, Options{})
	_, target := pod(t, "0.21.1", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("X-Amzn-Oidc-Identity"))
	})
	b.register(target)
	b.waitHealth(target, state.Healthy)
	listener, get := b.tlsListener()
	at := provider(t)
	set := func(secret string) {
		t.Helper()
		action := routing.ForwardTo(b.group)
		action.Auth = &routing.Auth{OIDC: &routing.OIDCAuth{
			Issuer: at, Authorization: at + "/" + secret, Token: at + "/token", UserInfo: at + "/user", ClientID: "id", Secret: secret,
		}}
		if _, err := b.machine.ModifyListener(listener.ARN, state.ListenerSpec{Default: action}); err != nil {
			t.Fatal(err)
		}
		b.eventually("the secret", func() bool { _, location, err := get("/"); return err == nil && pathOf(location) == "/"+secret })
	}
	door := b.plane.ListenerDoor(listener.ARN)
	comeBack := func() reply {
		t.Helper()
		sent := ask(t, door, "/cart?a=b", nil)
		place, err := url.Parse(sent.header.Get("Location"))
		if err != nil {
			t.Fatal(err)
		}
		return ask(t, door, "/oauth2/idpresponse?code=c&state="+place.Query().Get("state"), nil)
	}
	set("stale")
	if got := comeBack(); got.status != statusLoginFailed {
		t.Errorf("with a stale secret: status %d, want %d", got.status, statusLoginFailed)
	}
	set("right")
	back := comeBack()
	cookie, _, _ := strings.Cut(back.header.Get("Set-Cookie"), ";")
	if back.status != http.StatusFound || back.header.Get("Location") != "https://a.example.org/cart?a=b" || cookie == "" {
		t.Fatalf("status %d, header %v, want to be sent to the page", back.status, back.header)
	}
	if got := ask(t, door, "/cart", http.Header{"Cookie": {cookie}}); got.status != http.StatusOK || got.body != "jane" {
		t.Errorf("status %d, user %q, want jane to pass", got.status, got.body)
	}
	forged := http.Header{"Cookie": {cookie + "x"}, "X-Amzn-Oidc-Identity": {"jane"}}
	if got := ask(t, door, "/", forged); got.status != http.StatusFound {
		t.Errorf("with another cookie: status %d, want %d", got.status, http.StatusFound)
	}
	if got := ask(t, door, "/oauth2/idpresponse?code=c&state=other", nil); got.status != http.StatusUnauthorized {
		t.Errorf("with another state: status %d, want %d", got.status, http.StatusUnauthorized)
	}
}

func pathOf(location string) string {
	place, err := url.Parse(location)
	if err != nil {
		return ""
	}
	return place.Path
}
