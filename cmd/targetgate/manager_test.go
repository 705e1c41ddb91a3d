// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

func TestCachesAreSmall(t *testing.T) {
	opts := &options{Provision: provisionOptions{Ingress: input.DefaultOptions("", "")}}
	transforms := map[reflect.Type]cache.TransformFunc{}
	for object, of := range cacheOptions(opts).ByObject {
		transforms[reflect.TypeOf(object)] = of.Transform
	}
	ingress := &networkingv1.Ingress{Spec: networkingv1.IngressSpec{TLS: make([]networkingv1.IngressTLS, 100_000)}}
	if _, err := transforms[reflect.TypeOf(ingress)](ingress); err != nil || len(ingress.Spec.TLS) > 0 {
		t.Errorf("%d entries of an Ingress's TLS are kept, %v", len(ingress.Spec.TLS), err)
	}
	for _, group := range []stack.Group{{Name: "edge"}, {Namespace: "shop", Name: "web"}} {
		binding := &v1beta1.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Labels: membership.LabelsOf(group)}}
		binding.Labels["team"] = "web"
		if _, err := transforms[reflect.TypeOf(binding)](binding); err != nil || !maps.Equal(binding.Labels, membership.LabelsOf(group)) {
			t.Errorf("labels %v of a binding of %s are kept, %v", binding.Labels, group, err)
		}
	}
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
