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
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/client-go/util/flowcontrol"
)

// The path of a webhook may begin with a secret, which only API servers know: it stands in the webhook configurations, which
// tenants cannot read. It follows from the key of the CA and the day. So all replicas know it, it changes every day, and who
// revokes the CA revokes it as well. An API server that cannot reach a webhook says the path to the user who asked: that is why
// it changes.
const (
	tokenLife = 24 * time.Hour
	// podPathSuffix is the path for which a failed call means a pod without gates.
	podPathSuffix = "/mutate-v1-pod"
)

var withToken = regexp.MustCompile(`^/([0-9a-f]{64})(/.*)$`)

// cutToken returns the path without its secret; the secret is empty when there is none.
func cutToken(path string) (token, bare string) {
	if found := withToken.FindStringSubmatch(path); found != nil {
		return found[1], found[2]
	}
	return "", path
}

// paths knows which secrets are valid. Reviews ask while the pass changes it.
type paths struct {
	ask bool // for a secret

	mu   sync.Mutex
	keys []pathKey            // the newest last
	live map[string]time.Time // the secrets in the configurations, which API servers may send, and when they were seen first
	rest strangers
}

// pathKey is a key that secrets follow from, and when it was seen first.
type pathKey struct {
	key   []byte
	since time.Time
}

// maxPathKeys are the keys that are remembered: as many CAs as there may be in a bundle.
const maxPathKeys = maxAuthorities

func newPaths(ask bool) *paths { return &paths{ask: ask, rest: newStrangers()} }

// learn takes note of the key in the Secret and of the paths in the configurations.
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

// wanted is what the path should be. A secret that follows from a new key waits until other replicas have seen the key, too; one
// that was found there stays for as long, as it may follow from a key that is not here yet.
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
	if token == newest.token(now.Add(tokenLife)) { // that of a replica whose clock is ahead
		return path
	}
	return "/" + newest.token(now) + bare
}

func (k pathKey) token(at time.Time) string {
	mac := hmac.New(sha256.New, k.key)
	_, _ = fmt.Fprintf(mac, "targetgate webhook path %d", at.Unix()/int64(tokenLife/time.Second))
	return hex.EncodeToString(mac.Sum(nil))
}

// valid compares in constant time.
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

// Guard hands requests on without the secret in their path. Who does not know it is answered about pods only, seldom, and never
// about bindings: for a moment after a configuration was applied anew API servers do not know it either.
func (s *SelfMade) Guard(next http.Handler) http.Handler {
	return s.keeper.paths.guard(next, s.keeper.clock.Now)
}

// Guard hands requests on without the secret in their path, which may be left from when targetgate made the certificates.
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
		case bare == podPathSuffix:
			p.rest.serve(w, known, next)
		default:
			http.NotFound(w, known)
		}
	})
}

// strangers get what they are answered from an allotment of their own.
type strangers struct {
	room *semaphore.Weighted
	rate flowcontrol.PassiveRateLimiter
}

// The allotment: enough for the pods of a rollout in the moment in which API servers do not know the secret, and little beside
// what a replica can do.
const (
	strangersAtOnce = 2
	strangersRate   = 20 // a second
	strangersBurst  = 100
	strangersBytes  = 1 << 20 // a body
)

func newStrangers() strangers {
	return strangers{semaphore.NewWeighted(strangersAtOnce), flowcontrol.NewTokenBucketRateLimiter(strangersRate, strangersBurst)}
}

func (s strangers) serve(w http.ResponseWriter, req *http.Request, next http.Handler) {
	if req.ContentLength > strangersBytes || req.ContentLength < 0 || !s.rate.TryAccept() || !s.room.TryAcquire(1) {
		http.Error(w, "the path is not the one in the webhook configuration", http.StatusServiceUnavailable)
		return
	}
	defer s.room.Release(1)
	next.ServeHTTP(w, req)
}
