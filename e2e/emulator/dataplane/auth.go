// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// mayPass says whether a request is answered by what comes after a login. If not, it is answered. Nobody is ever logged in here, and no
// token is right: what is shown is that nobody passes, and where users are sent.
func (d *door) mayPass(a *answer, r *http.Request, auth *state.Auth) bool {
	switch {
	case auth == nil:
		return true
	case auth.Cognito != nil:
		c := auth.Cognito
		at := "https://" + c.Domain + ".auth." + d.plane.machine.Options().Region + ".amazoncognito.com/oauth2/authorize"
		return login(a, r, at, c.ClientID, c.Session)
	case auth.OIDC != nil:
		return login(a, r, auth.OIDC.Authorization, auth.OIDC.ClientID, auth.OIDC.Session)
	}
	a.refuse(http.StatusUnauthorized)
	return false
}

func login(a *answer, r *http.Request, at, client string, session state.Session) bool {
	switch session.Unauthenticated {
	case "allow":
		return true
	case "deny":
		a.refuse(http.StatusUnauthorized)
		return false
	}
	query := url.Values{
		"client_id": {client}, "response_type": {"code"}, "scope": {session.Scope}, "state": {"none"},
		"redirect_uri": {"https://" + hostOf(r.Host) + "/oauth2/idpresponse"},
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
	rewritten := rule.Apply(state.URLRewrite, text)
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
