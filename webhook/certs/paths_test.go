// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// newSecretive is a fixture whose paths begin with a secret.
func newSecretive(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.paths = newPaths(true)
	f.keep(t, newCA(t, commonName, 0), "key 1")
	return f
}

// keep has the Secret and the library hold that CA.
func (f *fixture) keep(t *testing.T, ca *signer, key string) {
	t.Helper()
	f.hold(t, ca)
	secret := newSecret(bundleOf(ca))
	secret.Data[corev1.TLSPrivateKeyKey] = []byte(key)
	f.putSecret(t, secret)
}

// livePaths are those of the three webhooks.
func (f *fixture) livePaths(t *testing.T) (out []string) {
	t.Helper()
	configurations, err := readConfigurations(t.Context(), f.api, testOptions.Configuration)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configurations {
		for _, h := range c.hooks {
			out = append(out, h.path)
		}
	}
	return out
}

// answered reports whether the path is.
func (f *fixture) answered(path string) bool {
	got := ""
	guard := f.paths.guard(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { got = req.URL.Path }), f.clock.Now)
	guard.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, path, strings.NewReader("{}")))
	_, bare := cutToken(path)
	return got == bare
}

func TestPathsBeginWithASecret(t *testing.T) {
	f := newSecretive(t)
	f.mustPass(t)
	paths := f.livePaths(t)
	for i, bare := range []string{"/a", "/b", "/c"} {
		token, got := cutToken(paths[i])
		if token == "" || got != bare || !f.answered(paths[i]) || f.answered(bare) || f.answered("/"+strings.Repeat("0", 64)+bare) {
			t.Errorf("path %q, answered: %v, without the secret: %v", paths[i], f.answered(paths[i]), f.answered(bare))
		}
	}
	writes := len(f.applied)
	f.clock.Step(time.Minute)
	f.mustPass(t)
	if len(f.applied) != writes {
		t.Error("it is written again although nothing has changed")
	}
}

func TestSecretOfPathsChanges(t *testing.T) {
	f := newSecretive(t)
	f.mustPass(t)
	first := f.livePaths(t)[0]
	f.clock.Step(tokenLife)
	f.mustPass(t)
	second := f.livePaths(t)[0]
	if first == second || !f.answered(first) || !f.answered(second) {
		t.Errorf("after a day it has changed: %v, the old one is answered: %v", first != second, f.answered(first))
	}
	f.clock.Step(tokenLife)
	f.mustPass(t)
	if f.answered(first) {
		t.Error("after two days the first one is still answered")
	}

	f.keep(t, newCA(t, commonName, -2*tokenLife), "key 2")
	f.mustPass(t)
	before := f.livePaths(t)[0]
	f.clock.Step(f.settle())
	f.mustPass(t)
	if after := f.livePaths(t)[0]; after == before || !f.answered(before) || !f.answered(after) {
		t.Errorf("with another CA it has changed once that has settled: %v, both are answered: %v, %v",
			after != before, f.answered(before), f.answered(after))
	}
}

// As `helm upgrade --force` and GitOps tools do.
func TestPathsAreRepaired(t *testing.T) {
	f := newSecretive(t)
	f.mustPass(t)
	want := f.livePaths(t)
	var object admissionregistrationv1.MutatingWebhookConfiguration
	if err := f.api.Get(t.Context(), client.ObjectKey{Name: testOptions.Configuration}, &object); err != nil {
		t.Fatal(err)
	}
	bare := "/a"
	object.Webhooks[0].ClientConfig.Service.Path = &bare
	if err := f.api.Update(t.Context(), &object); err != nil {
		t.Fatal(err)
	}
	f.mustPass(t)
	if got := f.livePaths(t); got[0] != want[0] {
		t.Errorf("path %q, want %q again", got[0], want[0])
	}
	f.paths = newPaths(false)
	f.mustPass(t)
	if got := f.livePaths(t); strings.Join(got, " ") != "/a /b /c" || !f.answered(want[0]) || !f.answered("/a") {
		t.Errorf("once it is switched off the paths are %q", got)
	}
}

// A replica that has not seen the new key takes what another one wrote for good.
func TestPathOfAKeyThatIsNotHereYetStays(t *testing.T) {
	f := newSecretive(t)
	f.mustPass(t)
	other := newPaths(true)
	other.learn([]byte("key 2"), nil, f.clock.Now())
	path := other.wanted("/a", f.clock.Now(), 0)
	f.paths.learn([]byte("key 1"), []configuration{{hooks: []hook{{path: path}}}}, f.clock.Now())
	f.clock.Step(f.settle() - time.Second)
	if got := f.paths.wanted(path, f.clock.Now(), f.settle()); got != path || !f.answered(path) {
		t.Errorf("it wants %q in place of %q; answered: %v", got, path, f.answered(path))
	}
	f.clock.Step(time.Second)
	if got := f.paths.wanted(path, f.clock.Now(), f.settle()); got == path {
		t.Error("a secret of nobody's stays for ever")
	}
}

func TestOnlyPodReviewsAreAnsweredWithoutSecret(t *testing.T) {
	f := newSecretive(t)
	f.mustPass(t)
	for path, want := range map[string]bool{podPathSuffix: true, "/protect" + podPathSuffix: true, "/a": false, "/mutate-v1-node": false} {
		if got := f.answered(path); got != want {
			t.Errorf("%s is answered: %t, want %t", path, got, want)
		}
	}
}

func TestRequestsWithoutSecretAreLimited(t *testing.T) {
	f := newSecretive(t)
	f.mustPass(t)
	answered := 0
	for range 3 * anonymousBurst {
		if f.answered(podPathSuffix) {
			answered++
		}
	}
	if answered < anonymousBurst || answered > 2*anonymousBurst {
		t.Errorf("%d of %d reviews of pods were answered, want some %d", answered, 3*anonymousBurst, anonymousBurst)
	}
	known, _ := cutToken(f.livePaths(t)[0])
	if !f.answered("/" + known + podPathSuffix) {
		t.Error("an API server pays for requests without the secret")
	}
	large := httptest.NewRequest(http.MethodPost, podPathSuffix, io.LimitReader(strings.NewReader(""), 0))
	large.ContentLength = anonymousBytes + 1
	w := httptest.NewRecorder()
	newPaths(true).guard(http.NotFoundHandler(), time.Now).ServeHTTP(w, large)
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("a large review is answered with %d", w.Code)
	}
}
