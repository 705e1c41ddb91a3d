// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/routing"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// mayPass reports whether a request is answered by what comes after a login. If not, it is answered. Nobody is ever logged in at Cognito.
func (d *door) mayPass(a *answer, r *http.Request, auth *routing.Auth) bool {
	switch {
	case auth == nil:
		return true
	case auth.Cognito != nil:
		c := auth.Cognito
		at := "https://" + c.Domain + ".auth." + d.plane.cloud.Region.Name() + ".amazoncognito.com/oauth2/authorize"
		return d.login(a, r, at, c.ClientID, c.Session)
	case auth.OIDC != nil:
		return d.loggedIn(r, auth.OIDC) || d.login(a, r, auth.OIDC.Authorization, auth.OIDC.ClientID, auth.OIDC.Session)
	}
	if d.plane.hasToken(r, auth.JWT) {
		return true
	}
	a.refuse(http.StatusUnauthorized)
	return false
}

func (d *door) login(a *answer, r *http.Request, at, client string, session routing.Session) bool {
	switch session.Unauthenticated {
	case "allow":
		return true
	case "deny":
		a.refuse(http.StatusUnauthorized)
		return false
	}
	if r.URL.Path == callbackPath { // of a login that never began
		a.refuse(http.StatusUnauthorized)
		return false
	}
	begun := d.plane.logins.begin(begun{d.listener.ARN, d.question(r), "https://" + r.Host + r.URL.RequestURI()})
	query := url.Values{
		"client_id": {client}, "response_type": {"code"}, "scope": {session.Scope}, "state": {begun},
		"redirect_uri": {callbackOf(r)},
	}
	for key, value := range session.Extra {
		query.Set(key, value)
	}
	a.Header().Set("Location", at+"?"+query.Encode())
	a.refuse(http.StatusFound)
	return false
}

// rewriteURL changes path and query as the rule says.
func rewriteURL(r *http.Request, rule state.ListenerRule) {
	text := r.URL.EscapedPath()
	if r.URL.RawQuery != "" {
		text += "?" + r.URL.RawQuery
	}
	rewritten := routing.Apply(rule.Transforms, routing.URLRewrite, text)
	if rewritten == text {
		return
	}
	path, query, _ := strings.Cut(rewritten, "?")
	unescaped, err := url.PathUnescape(path)
	if err != nil {
		unescaped = path
	}
	r.URL.Path, r.URL.RawPath, r.URL.RawQuery = cmp.Or(unescaped, "/"), "", query
}
