// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/client-go/util/flowcontrol"
)

// The path of a webhook may start with a secret that only API servers know: it is in the webhook configurations, which tenants
// cannot read. It is derived from the CA's key and the day. So all replicas know it, it changes every day, and revoking the CA
// revokes it, too. It changes because an API server that cannot reach a webhook shows the path to the user.
const (
	tokenLife = 24 * time.Hour
	// podPathSuffix is the path of the pod webhook, and ends those of others for pods: a failed call means a pod without gates.
	podPathSuffix = "/mutate-v1-pod"
)

var withToken = regexp.MustCompile(`^/([0-9a-f]{64})(/.*)$`)

// cutToken splits a path into its secret, which may be empty, and the rest.
func cutToken(path string) (token, bare string) {
	if found := withToken.FindStringSubmatch(path); found != nil {
		return found[1], found[2]
	}
	return "", path
}

// paths knows which secrets are valid. Reviews read it while the pass changes it.
type paths struct {
	ask bool // whether a secret is required

	mu   sync.Mutex
	keys []pathKey            // the newest last
	live map[string]time.Time // the secrets in the configurations, which API servers may send, and when each was first seen
	rest anonymous
}

// pathKey is a key that secrets are derived from, and when it was first seen.
type pathKey struct {
	key   []byte
	since time.Time
}

// maxPathKeys is how many keys are kept: as many as a bundle may have CAs.
const maxPathKeys = maxAuthorities

func newPaths(ask bool) *paths { return &paths{ask: ask, rest: newAnonymous()} }

// learn records the key in the Secret and the paths in the configurations.
func (p *paths) learn(key []byte, configurations []configuration, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.keys) - 1; len(key) > 0 && (last < 0 || !hmac.Equal(p.keys[last].key, key)) {
		p.keys = append(p.keys, pathKey{key: key, since: now})
		p.keys = p.keys[max(0, len(p.keys)-maxPathKeys):]
	}
	before := p.live
	p.live = map[string]time.Time{}
	for _, c := range configurations {
		for _, h := range c.hooks {
			if token, _ := cutToken(h.path); token != "" {
				p.live[token] = now
				if since, seen := before[token]; seen {
					p.live[token] = since
				}
			}
		}
	}
}

// wanted returns the path to write. A secret from a new key is not used until the other replicas have seen the key, too. An
// existing secret stays for the same time, because it may come from a key that this replica has not seen yet.
func (p *paths) wanted(path string, now time.Time, settle time.Duration) string {
	token, bare := cutToken(path)
	if !p.ask {
		return bare
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.keys) == 0 {
		return path
	}
	newest := p.keys[len(p.keys)-1]
	if token != "" && (now.Sub(newest.since) < settle || now.Sub(p.live[token]) < settle) {
		return path
	}
	if token == newest.token(now.Add(tokenLife)) { // from a replica whose clock is ahead
		return path
	}
	return "/" + newest.token(now) + bare
}

func (k pathKey) token(at time.Time) string {
	mac := hmac.New(sha256.New, k.key)
	_, _ = fmt.Fprintf(mac, "targetgate webhook path %d", at.Unix()/int64(tokenLife/time.Second))
	return hex.EncodeToString(mac.Sum(nil))
}

// valid reports whether the secret is valid. It compares in constant time.
func (p *paths) valid(token string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := 0
	for known := range p.live {
		found |= subtle.ConstantTimeCompare([]byte(token), []byte(known))
	}
	for _, key := range p.keys {
		for _, at := range []time.Time{now.Add(-tokenLife), now, now.Add(tokenLife)} {
			found |= subtle.ConstantTimeCompare([]byte(token), []byte(key.token(at)))
		}
	}
	return found == 1
}

// Guard removes the secret from the path of requests. Requests without it get no binding reviews, and pod reviews only at a
// limited rate: for a moment after a configuration is applied again, API servers do not know the secret either.
func (s *SelfMade) Guard(next http.Handler) http.Handler {
	return s.reconciler.paths.guard(next, s.reconciler.clock.Now)
}

// Guard removes a secret from the path of requests. It may be left from when targetgate created the certificates.
func (f *Files) Guard(next http.Handler) http.Handler { return newPaths(false).guard(next, time.Now) }

func (p *paths) guard(next http.Handler, now func() time.Time) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		token, bare := cutToken(req.URL.Path)
		known := new(http.Request)
		*known = *req
		known.URL = &url.URL{Path: bare, RawQuery: req.URL.RawQuery}
		switch {
		case !p.ask || token != "" && p.valid(token, now()):
			next.ServeHTTP(w, known)
		case strings.HasSuffix(bare, podPathSuffix):
			p.rest.serve(w, known, next)
		default:
			http.NotFound(w, known)
		}
	})
}

// anonymous limits requests without the secret.
type anonymous struct {
	slots *semaphore.Weighted
	rate  flowcontrol.PassiveRateLimiter
}

// The limits are enough for the pods of a rollout while API servers do not know the secret, and a small part of what a replica
// can do.
const (
	anonymousAtOnce = 2
	anonymousRate   = 20 // a second
	anonymousBurst  = 100
	anonymousBytes  = 1 << 20 // a body
)

func newAnonymous() anonymous {
	return anonymous{semaphore.NewWeighted(anonymousAtOnce), flowcontrol.NewTokenBucketRateLimiter(anonymousRate, anonymousBurst)}
}

func (s anonymous) serve(w http.ResponseWriter, req *http.Request, next http.Handler) {
	if req.ContentLength > anonymousBytes || req.ContentLength < 0 || !s.rate.TryAccept() || !s.slots.TryAcquire(1) {
		http.Error(w, "the path is not the one in the webhook configuration", http.StatusServiceUnavailable)
		return
	}
	defer s.slots.Release(1)
	next.ServeHTTP(w, req)
}
