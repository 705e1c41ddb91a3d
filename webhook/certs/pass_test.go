// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/flowcontrol"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/targetgate/targetgate/readiness"
)

var testOptions = Options{
	Namespace: "targetgate-system", Service: "targetgate-webhook", Secret: "targetgate-webhook-ca", Configuration: "targetgate-webhook",
	CADuration: 365 * 24 * time.Hour, CertDuration: week,
}

// fixture is a reconciler on an API server in memory, where two configurations with three webhooks are.
type fixture struct {
	*reconciler
	api     client.WithWatch
	clock   *clocktesting.FakeClock
	newest  *tls.Certificate
	applied []map[string]any // in all writes
	before  func()           // each write
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	f := &fixture{clock: clocktesting.NewFakeClock(now), before: func() {}}
	f.api = fake.NewClientBuilder().WithScheme(scheme).WithObjects(newMutating(), newValidating()).Build()
	counted := interceptor.NewClient(f.api, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			f.applied = append(f.applied, asSent(t, obj))
			f.before()
			return c.Apply(ctx, obj, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			if err := validateSecret(obj); err != nil {
				return err
			}
			return c.Update(ctx, obj, opts...)
		},
	})
	f.reconciler = &reconciler{
		Options: testOptions, clock: f.clock, reader: f.api, writer: counted,
		newest:       func() *tls.Certificate { return f.newest },
		servingCerts: servingCerts{settle: testOptions.settle()}, paths: newPaths(false), writes: flowcontrol.NewFakeAlwaysRateLimiter(),
	}
	return f
}

// validateSecret refuses what API servers refuse, and the fake does not.
func validateSecret(obj client.Object) error {
	secret, isSecret := obj.(*corev1.Secret)
	if !isSecret || secret.Type != corev1.SecretTypeTLS {
		return nil
	}
	var faults field.ErrorList
	for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		if _, exists := secret.Data[key]; !exists {
			faults = append(faults, field.Required(field.NewPath("data").Key(key), ""))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Secret").GroupKind(), secret.Name, faults)
}

func asSent(t *testing.T, obj runtime.ApplyConfiguration) (out map[string]any) {
	t.Helper()
	content, err := json.Marshal(obj)
	if err == nil {
		err = json.Unmarshal(content, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func newMutating() *admissionregistrationv1.MutatingWebhookConfiguration {
	hook := func(name, path string) admissionregistrationv1.MutatingWebhook {
		return admissionregistrationv1.MutatingWebhook{
			Name: name, AdmissionReviewVersions: []string{"v1"}, SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
			FailurePolicy: ptr.To(admissionregistrationv1.Ignore), ClientConfig: newClientConfig(path),
		}
	}
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: testOptions.Configuration},
		Webhooks:   []admissionregistrationv1.MutatingWebhook{hook(readiness.PodWebhook, "/a"), hook("b.example", "/b")},
	}
}

func newValidating() *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: testOptions.Configuration},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "c.example", AdmissionReviewVersions: []string{"v1"}, SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
			ClientConfig: newClientConfig("/c"),
		}},
	}
}

func newClientConfig(path string) admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{
		Namespace: testOptions.Namespace, Name: testOptions.Service, Path: ptr.To(path), Port: ptr.To[int32](443),
	}}
}

// hold puts the CA into the Secret and has the library sign by it. It returns the new certificate.
func (f *fixture) hold(t *testing.T, ca *signer) *tls.Certificate {
	t.Helper()
	f.putSecret(t, newSecret(bundleOf(ca)))
	f.newest = ca.sign(t, testHost)
	return f.newest
}

func newSecret(certificate []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: testOptions.Namespace, Name: testOptions.Secret},
		Data: map[string][]byte{
			corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: []byte("key"), "ca.crt": certificate,
		},
	}
}

func (f *fixture) putSecret(t *testing.T, secret *corev1.Secret) {
	t.Helper()
	if err := client.IgnoreNotFound(f.api.Delete(t.Context(), secret.DeepCopy())); err != nil {
		t.Fatal(err)
	}
	if err := f.api.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}

// setBundle is a change by hand, to the mutating configuration's first webhook.
func (f *fixture) setBundle(t *testing.T, bundle []byte) {
	t.Helper()
	var object admissionregistrationv1.MutatingWebhookConfiguration
	if err := f.api.Get(t.Context(), client.ObjectKey{Name: testOptions.Configuration}, &object); err != nil {
		t.Fatal(err)
	}
	object.Webhooks[0].ClientConfig.CABundle = bundle
	if err := f.api.Update(t.Context(), &object); err != nil {
		t.Fatal(err)
	}
}

// mustPass does passes until there is nothing left to write.
func (f *fixture) mustPass(t *testing.T) {
	t.Helper()
	for range 3 {
		if err := f.pass(t.Context()); err != nil {
			t.Logf("pass: %v", err) // told of the state before the write
		}
	}
	if err := f.pass(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// wantBundles fails when a live caBundle has other CAs, or in another order.
func (f *fixture) wantBundles(t *testing.T, want ...*signer) {
	t.Helper()
	configurations, err := readConfigurations(t.Context(), f.api, testOptions.Configuration)
	if err != nil {
		t.Fatal(err)
	}
	got := bundles(configurations)
	if len(got) != 1 || string(got[0]) != string(bundleOf(want...)) {
		for _, bundle := range got {
			authorities, clean := parseBundle(bundle)
			t.Errorf("a caBundle has CAs of ages %v (clean: %v), want all the same %d", ages(authorities), clean, len(want))
		}
	}
}

func (f *fixture) wantServed(t *testing.T, want *tls.Certificate) {
	t.Helper()
	if f.servingCerts.current() != want {
		t.Errorf("served is %v, want that of serial %v", f.servingCerts.current(), want.Leaf.SerialNumber)
	}
}

func TestPassAppliesCABundleAndNothingElse(t *testing.T) {
	f := newFixture(t)
	ca := newCA(t, commonName, time.Hour)
	certificate := f.hold(t, ca)
	f.mustPass(t)
	f.wantBundles(t, ca)
	f.wantServed(t, certificate)

	hook := func(name, path string) any {
		return map[string]any{"name": name, "clientConfig": map[string]any{
			"caBundle": base64.StdEncoding.EncodeToString(bundleOf(ca)), "service": map[string]any{"path": path},
		}}
	}
	object := func(kind string, hooks ...any) map[string]any {
		return map[string]any{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "webhooks": hooks,
			"metadata": map[string]any{"name": testOptions.Configuration, "resourceVersion": "999"}, // as the fake begins to count
		}
	}
	want := []map[string]any{
		object("MutatingWebhookConfiguration", hook(readiness.PodWebhook, "/a"), hook("b.example", "/b")),
		object("ValidatingWebhookConfiguration", hook("c.example", "/c")),
	}
	if diff := cmp.Diff(want, f.applied); diff != "" {
		t.Errorf("applied (-want +got):\n%s", diff)
	}
}

// The first case of the package's diagram: nothing is served that an API server might not know yet.
func TestPassServesByNewCAWhenItHasSettled(t *testing.T) {
	f := newFixture(t)
	old, young := newCA(t, commonName, 2*time.Minute), newCA(t, commonName, time.Minute)
	first := f.hold(t, old)
	f.mustPass(t)
	f.clock.Step(time.Minute)

	second := f.hold(t, young)
	f.mustPass(t)
	f.wantBundles(t, young, old)
	f.wantServed(t, first)
	f.clock.Step(maxSettle - time.Second)
	f.mustPass(t)
	f.wantServed(t, first)
	f.clock.Step(time.Second)
	f.mustPass(t)
	f.wantServed(t, second)
	f.wantBundles(t, young, old) // until it has expired: another replica may still serve by it

	if len(f.applied) != 4 {
		t.Errorf("%d writes, want one of each configuration for each CA", len(f.applied))
	}
}

func TestPassRepairsCABundle(t *testing.T) {
	old, young, foreign := newCA(t, commonName, 2*time.Minute), newCA(t, commonName, time.Minute), newCA(t, "evil", 0)
	tests := map[string][]byte{
		"removed":    nil,
		"garbage":    []byte("garbage"),
		"foreign":    bundleOf(foreign),
		"added to":   bundleOf(young, old, foreign),
		"cut":        bundleOf(young, old)[:600],
		"of one old": bundleOf(old),
	}
	for name, bundle := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			served := f.hold(t, old)
			f.mustPass(t)
			f.hold(t, young)
			f.mustPass(t)
			f.setBundle(t, bundle)
			f.mustPass(t)
			f.wantBundles(t, young, old)
			f.wantServed(t, served)
		})
	}
}

// What signed the served certificate may be gone from everywhere but this replica's memory.
func TestPassRemembersWhoSignedWhatIsServed(t *testing.T) {
	f := newFixture(t)
	old, young := newCA(t, commonName, 2*time.Minute), newCA(t, commonName, time.Minute)
	served := f.hold(t, old)
	f.mustPass(t)
	for _, object := range []client.Object{newMutating(), newValidating()} { // as an uninstall and an install do
		if err := f.api.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		if err := f.api.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	f.hold(t, young)
	f.mustPass(t)
	f.wantBundles(t, young, old)
	f.wantServed(t, served)
}

func TestPassKeepsWhatAnotherReplicaHasAdded(t *testing.T) {
	f := newFixture(t)
	ours, theirs := newCA(t, commonName, 2*time.Minute), newCA(t, commonName, time.Minute)
	f.hold(t, ours)
	f.before = func() { // the other replica is faster
		f.before = func() {}
		f.setBundle(t, bundleOf(theirs))
	}
	if err := f.pass(t.Context()); err != nil && strings.Contains(err.Error(), "writing caBundle") {
		t.Errorf("being late is no failure, got %v", err)
	}
	f.mustPass(t)
	f.wantBundles(t, ours, theirs)
}

func TestPassEmptiesForeignSecret(t *testing.T) {
	foreign := newCA(t, "evil", 0)
	const notTrusted = "does not verify the serving certificate"
	tests := map[string]struct {
		change   func(*corev1.Secret)
		wantErr  string
		wantHeld bool
	}{
		"of any kind": {change: func(*corev1.Secret) {}, wantErr: notTrusted},
		"for TLS":     {change: func(s *corev1.Secret) { s.Type = corev1.SecretTypeTLS }, wantErr: notTrusted},
		"immutable": {
			change:   func(s *corev1.Secret) { s.Immutable = ptr.To(true) },
			wantErr:  "replacing Secret targetgate-system/targetgate-webhook-ca: it is immutable and holds a CA that is not targetgate's: delete it",
			wantHeld: true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.hold(t, foreign)
			secret := newSecret(bundleOf(foreign))
			tc.change(secret)
			f.putSecret(t, secret)
			err := f.pass(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.wantErr) || strings.Contains(err.Error(), "emptying") {
				t.Errorf("pass() = %v, want %q in it", err, tc.wantErr)
			}
			if err := f.api.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
				t.Fatal(err)
			}
			held := false
			for _, content := range secret.Data {
				held = held || len(content) > 0
			}
			if held != tc.wantHeld {
				t.Errorf("the Secret still holds it: %v, want %v", held, tc.wantHeld)
			}
			if len(f.applied) > 0 {
				t.Error("caBundle was written")
			}
		})
	}
}

func TestPassWritesNoFasterThanItMay(t *testing.T) {
	f := newFixture(t)
	f.writes = flowcontrol.NewFakeNeverRateLimiter()
	f.hold(t, newCA(t, commonName, 0))
	if err := f.pass(t.Context()); err == nil || len(f.applied) > 0 {
		t.Errorf("%d writes, error %v; want none, and an error that says what is not trusted", len(f.applied), err)
	}
}

func TestReadyTellsTheTruth(t *testing.T) {
	tests := map[string]struct {
		change  func(*testing.T, *fixture)
		wantErr string
	}{
		"all is well": {change: func(*testing.T, *fixture) {}},
		"caBundle damaged": {
			change:  func(t *testing.T, f *fixture) { f.setBundle(t, bundleOf(newCA(t, commonName, 0))) },
			wantErr: "does not verify the serving certificate",
		},
		"an API server's clock may be behind": {
			change:  func(_ *testing.T, f *fixture) { f.clock.Step(-time.Second) },
			wantErr: "not valid yet for API servers whose clocks are behind: ready in 1s",
		},
		"caBundle removed":                     {change: func(t *testing.T, f *fixture) { f.setBundle(t, nil) }, wantErr: "contains no certificate"},
		"certificate expired":                  {change: func(_ *testing.T, f *fixture) { f.clock.Step(week + time.Second) }, wantErr: "expired"},
		"no certificate":                       {change: func(_ *testing.T, f *fixture) { f.servingCerts.serving = nil }, wantErr: "no serving certificate yet"},
		"the webhooks of bindings are missing": {change: func(t *testing.T, f *fixture) { f.remove(t, newValidating()) }},
		"no webhooks at all":                   {change: func(t *testing.T, f *fixture) { f.remove(t, newValidating()); f.remove(t, newMutating()) }},
		"caBundle of another webhook damaged": {change: func(t *testing.T, f *fixture) {
			var object admissionregistrationv1.MutatingWebhookConfiguration
			if err := f.api.Get(t.Context(), client.ObjectKey{Name: testOptions.Configuration}, &object); err != nil {
				t.Fatal(err)
			}
			object.Webhooks[1].ClientConfig.CABundle = nil
			if err := f.api.Update(t.Context(), &object); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.hold(t, newCA(t, commonName, 0))
			f.mustPass(t)
			f.clock.Step(maxClockSkew)
			tc.change(t, f)
			err := f.ready(httptest.NewRequest(http.MethodGet, "/readyz", http.NoBody))
			if (err == nil) != (tc.wantErr == "") || err != nil && !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("ready() = %v, want %q in it", err, tc.wantErr)
			}
		})
	}
}

func (f *fixture) remove(t *testing.T, object client.Object) {
	t.Helper()
	if err := f.api.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

func TestPassTellsWhichConfigurationTrusts(t *testing.T) {
	f := newFixture(t)
	f.hold(t, newCA(t, commonName, 0))
	f.mustPass(t)
	f.remove(t, newValidating())
	if err := f.pass(t.Context()); err == nil {
		t.Error("pass() says nothing about the missing configuration")
	}
	left, _ := readConfigurations(t.Context(), f.api, testOptions.Configuration)
	for i, want := range []float64{1, 0} {
		if got := f.trust(configurationKinds[i], left); got != want {
			t.Errorf("%s is trusted: %v, want %v", configurationKinds[i], got, want)
		}
	}
}

// A CA that has leaked, or that somebody has put there, must not stay for as long as it says that it is valid.
func TestPassTakesOldAuthoritiesOutOfCABundle(t *testing.T) {
	f := newFixture(t)
	old := newCA(t, commonName, 2*time.Hour)
	f.hold(t, old)
	f.mustPass(t)
	f.wantBundles(t, old)
	young := newCA(t, commonName, 0)
	f.hold(t, young)
	f.mustPass(t)
	f.wantBundles(t, young, old)
	f.clock.Step(f.overlap() - time.Second)
	f.mustPass(t)
	f.wantBundles(t, young, old)
	f.clock.Step(f.overlap()/10 + 2*time.Second)
	f.mustPass(t)
	f.wantBundles(t, young)

	planted := newCA(t, commonName, 30*24*time.Hour)
	f.setBundle(t, bundleOf(young, planted))
	f.mustPass(t)
	f.wantBundles(t, young)
}

func TestPassTellsExpiry(t *testing.T) {
	f := newFixture(t)
	ca := newCA(t, commonName, 0)
	f.hold(t, ca)
	f.mustPass(t)
	want := map[string]time.Time{servingCertificate: now.Add(week), authorityCertificate: ca.NotAfter}
	if diff := cmp.Diff(want, expiries(t)); diff != "" {
		t.Errorf("expiry (-want +got):\n%s", diff)
	}
}

// expiries are what the metric says, by certificate.
func expiries(t *testing.T) map[string]time.Time {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]time.Time{}
	for _, family := range families {
		if family.GetName() == "targetgate_webhook_certificate_expiration_timestamp_seconds" {
			for _, m := range family.GetMetric() {
				out[m.GetLabel()[0].GetValue()] = time.Unix(int64(m.GetGauge().GetValue()), 0).UTC()
			}
		}
	}
	return out
}

func TestFirstCertificateOfNonsenseIsNone(t *testing.T) {
	for name, content := range map[string][]byte{
		"nothing": nil, "garbage": []byte("garbage"),
		"no certificate": pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: []byte("garbage")}),
	} {
		t.Run(name, func(t *testing.T) {
			if got := firstCertificate(content); got != nil {
				t.Errorf("firstCertificate() = %v, want nil", got)
			}
		})
	}
}
