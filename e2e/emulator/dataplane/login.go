// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/routing"
)

const (
	callbackPath = "/oauth2/idpresponse"
	// statusLoginFailed is what an ALB answers when the provider refuses to say who the user is.
	statusLoginFailed = 561
	// longestReply is how much of a provider's reply is read.
	longestReply = 1 << 20
)

// logins are the users who are on their way, by state, and those who have logged in, by cookie.
type logins struct {
	mu       sync.Mutex
	begun    map[string]begun
	sessions map[string]session
}

type begun struct {
	listener string
	question routing.Request
	place    string // where the user wanted to go
}

type session struct {
	issuer, client, user string
	until                time.Time
}

func (l *logins) begin(b begun) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := rand.Text()
	l.begun[key] = b
	return key
}

// end is false for a state that is unknown, of another listener, or used.
func (l *logins) end(key, listener string) (begun, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, ok := l.begun[key]
	if !ok || b.listener != listener {
		return begun{}, false
	}
	delete(l.begun, key)
	return b, true
}

func (l *logins) open(s session) (cookie string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	cookie = rand.Text()
	l.sessions[cookie] = s
	return cookie
}

// user is "" for one who has not logged in at that client.
func (l *logins) user(cookie string, o *routing.OIDCAuth, now time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sessions[cookie]
	if s.issuer != o.Issuer || s.client != o.ClientID || !now.Before(s.until) {
		return ""
	}
	return s.user
}

var errNoUser = errors.New("the provider names no user")

// loggedIn tells the target who the user is; false when nobody knows.
func (d *door) loggedIn(r *http.Request, o *routing.OIDCAuth) bool {
	r.Header.Del("X-Amzn-Oidc-Identity")
	cookie, err := r.Cookie(cookieName(o))
	if err != nil {
		return false
	}
	user := d.plane.logins.user(cookie.Value, o, d.plane.now())
	if user == "" {
		return false
	}
	r.Header.Set("X-Amzn-Oidc-Identity", user)
	return true
}

func cookieName(o *routing.OIDCAuth) string { return o.Cookie + "-0" }

// callback answers a user who comes back from the provider, by what the rule says now; false is another request.
func (d *door) callback(a *answer, r *http.Request) bool {
	if r.URL.Path != callbackPath {
		return false
	}
	login, ok := d.plane.logins.end(r.URL.Query().Get("state"), d.listener.ARN)
	if !ok {
		return false
	}
	rule, _ := d.plane.machine.Decide(d.listener.ARN, login.question)
	if rule.Action.Auth == nil || rule.Action.Auth.OIDC == nil {
		a.refuse(http.StatusUnauthorized)
		return true
	}
	o := rule.Action.Auth.OIDC
	user, err := d.plane.identify(r.Context(), o, r.URL.Query().Get("code"), callbackOf(r))
	if err != nil {
		d.plane.opts.Log.Error(err, "logging in", "listener", d.listener.ARN)
		a.refuse(statusLoginFailed)
		return true
	}
	until := d.plane.now().Add(d.plane.cloud.Region.Scaled(time.Duration(o.Timeout) * time.Second))
	http.SetCookie(a, &http.Cookie{
		Name: cookieName(o), Value: d.plane.logins.open(session{o.Issuer, o.ClientID, user, until}),
		Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteNoneMode,
	})
	a.Header().Set("Location", login.place)
	a.refuse(http.StatusFound)
	return true
}

func callbackOf(r *http.Request) string { return "https://" + hostOf(r.Host) + callbackPath }

// identify asks the provider who the user is that came back with the code.
func (p *Plane) identify(ctx context.Context, o *routing.OIDCAuth, code, callback string) (user string, err error) {
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {callback}, "client_id": {o.ClientID}, "client_secret": {o.Secret},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, o.Token, strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var token struct {
		Access string `json:"access_token"`
	}
	if err := p.fetch(request, &token); err != nil {
		return "", fmt.Errorf("asking for a token: %w", err)
	}
	request, err = http.NewRequestWithContext(ctx, http.MethodGet, o.UserInfo, http.NoBody)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+token.Access)
	var info struct {
		Subject string `json:"sub"`
	}
	if err := p.fetch(request, &info); err != nil {
		return "", fmt.Errorf("asking for the user: %w", err)
	}
	if info.Subject == "" {
		return "", errNoUser
	}
	return info.Subject, nil
}

// fetch reads what a provider answers. Its certificate is not verified.
func (p *Plane) fetch(request *http.Request, into any) error {
	ctx, cancel := context.WithTimeout(request.Context(), p.opts.ConnectTimeout)
	defer cancel()
	response, err := p.checks.RoundTrip(request.WithContext(ctx))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", request.URL.Host, response.Status)
	}
	return json.NewDecoder(io.LimitReader(response.Body, longestReply)).Decode(into)
}
