// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/client-go/rest"

	"github.com/targetgate/targetgate/balancers/ingress/input"
)

func TestReadyOnlyWhenCachesHaveSynced(t *testing.T) {
	var caches cachesSynced
	if caches.NeedLeaderElection() {
		t.Error("replicas that do not lead would never be ready")
	}
	if err := caches.check(nil); err == nil {
		t.Error("ready before the caches have synced")
	}
	if err := caches.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := caches.check(nil); err != nil {
		t.Errorf("not ready after the caches have synced: %v", err)
	}
}

func TestCachesAreSmall(t *testing.T) {
	opts := &options{Provision: provisionOptions{Ingress: input.DefaultOptions("", "")}}
	large := &networkingv1.Ingress{Spec: networkingv1.IngressSpec{TLS: make([]networkingv1.IngressTLS, 100_000)}}
	for of, by := range cacheOptions(opts).ByObject {
		if _, is := of.(*networkingv1.Ingress); !is {
			continue
		}
		if _, err := by.Transform(large); err != nil || len(large.Spec.TLS) > 0 {
			t.Errorf("%d entries of an Ingress's TLS are kept, %v", len(large.Spec.TLS), err)
		}
		return
	}
	t.Error("Ingresses are cached as they are")
}

func TestLeaseIsHeldInTheNameOfThePod(t *testing.T) {
	cfg := &rest.Config{Host: "https://127.0.0.1:1"}
	for name, tc := range map[string]struct {
		opts options
		want string // a pattern
	}{
		"known":        {options{LeaderElection: true, LeaderElectionNamespace: "own", LeaderElectionID: "lease", Identity: "pod_uid"}, "^pod_uid$"},
		"not known":    {options{LeaderElection: true, LeaderElectionNamespace: "own", LeaderElectionID: "lease"}, "^.{36}$"},
		"nor where to": {options{LeaderElection: true, LeaderElectionID: "lease"}, "^$"},
		"not needed":   {options{LeaderElectionNamespace: "own", LeaderElectionID: "lease", Identity: "pod_uid"}, "^$"},
	} {
		t.Run(name, func(t *testing.T) {
			lease, err := newLease(cfg, &tc.opts)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if lease != nil {
				got = lease.Identity()
			}
			if !regexp.MustCompile(tc.want).MatchString(got) {
				t.Errorf("identity %q, want %s", got, tc.want)
			}
		})
	}
}

func TestAwaitAPIServerWaitsForAnAnswer(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"kind":"APIVersions","versions":["v1"],"gitVersion":"v1.36.3"}`))
	}))
	cfg := &rest.Config{Host: "http://" + server.Listener.Addr().String()}
	done := make(chan error)
	version := ""
	go func() {
		var err error
		version, err = awaitAPIServer(t.Context(), cfg)
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("returned with %v before the server answered", err)
	case <-time.After(100 * time.Millisecond):
	}
	server.Start()
	defer server.Close()
	if err := <-done; err != nil || version != "v1.36.3" {
		t.Errorf("after the server answered: version %q, error %v", version, err)
	}
}
