// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/targetgate/targetgate/readiness"
)

// fieldManager owns caBundle and the paths in the webhook configurations, and nothing else.
const fieldManager = "targetgate-certificates"

// reconciler runs the passes.
type reconciler struct {
	Options
	clock        clock.Clock
	reader       client.Reader
	writer       client.Client
	newest       func() *tls.Certificate // the library's newest, or nil
	servingCerts servingCerts
	paths        *paths
	writes       flowcontrol.RateLimiter // limits writes while something else writes caBundle, too
}

// seen is what a pass has read from the cluster.
type seen struct {
	secret         *corev1.Secret    // nil if missing
	ca             *x509.Certificate // in the Secret; nil if it cannot be parsed
	configurations []configuration
}

// pass reads the cluster, chooses the certificate to serve, and writes what is missing, in this order, because a write may be
// slow. Its error says what could not be written, or why the serving certificate is not trusted.
func (r *reconciler) pass(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	s, err := r.look(ctx)
	if err != nil {
		return err
	}
	r.paths.learn(s.key(), s.configurations, r.clock.Now())
	r.servingCerts.offer(r.newest())
	r.servingCerts.choose(r.clock.Now(), func(certificate *x509.Certificate) bool {
		return r.verify(certificate, s.configurations) == nil
	})
	r.report(s)
	return errors.Join(r.missing(s), r.resetForeignCA(ctx, s), r.inject(ctx, s), r.check(ctx))
}

// key returns the CA's key, or nil if there is no CA or it is not ours.
func (s seen) key() []byte {
	if s.ca == nil || !ours(s.ca) {
		return nil
	}
	return s.secret.Data[corev1.TLSPrivateKeyKey]
}

func (r *reconciler) look(ctx context.Context) (seen, error) {
	secret := &corev1.Secret{}
	err := r.reader.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Secret}, secret)
	if client.IgnoreNotFound(err) != nil {
		return seen{}, fmt.Errorf("reading Secret %s: %w", r.Secret, err)
	}
	var s seen
	if err == nil {
		s.secret, s.ca = secret, firstCertificate(secret.Data[corev1.TLSCertKey])
	}
	if s.configurations, err = readConfigurations(ctx, r.reader, r.Configuration); apierrors.IsNotFound(err) {
		err = nil // check reports it
	}
	return s, err
}

// missing returns an error if there is no Secret, because targetgate may not create it.
func (r *reconciler) missing(s seen) error {
	if s.secret != nil {
		return nil
	}
	return fmt.Errorf("no Secret %s/%s: create an empty one, and targetgate fills it", r.Namespace, r.Secret)
}

func firstCertificate(content []byte) *x509.Certificate {
	block, _ := pem.Decode(content)
	if block == nil {
		return nil
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil
	}
	return certificate
}

// resetForeignCA empties a Secret whose CA is not ours, so that the library creates a new one. By itself, the library replaces only
// invalid or expired content. It would keep a CA that cannot verify anything, or that another replica cannot tell from a
// foreign one in caBundle. A Secret of type kubernetes.io/tls must keep its two keys, which may be empty.
func (r *reconciler) resetForeignCA(ctx context.Context, s seen) error {
	if s.ca == nil || ours(s.ca) {
		return nil
	}
	if ptr.Deref(s.secret.Immutable, false) {
		return fmt.Errorf("replacing Secret %s/%s: it is immutable and holds a CA that is not targetgate's: delete it", r.Namespace, r.Secret)
	}
	if !r.writes.TryAccept() {
		return nil
	}
	log.FromContext(ctx).Info("Replacing a CA that is not targetgate's",
		"secret", klog.KObj(s.secret), "subject", s.ca.Subject.String())
	secret := s.secret.DeepCopy()
	secret.Data = map[string][]byte{corev1.TLSCertKey: {}, corev1.TLSPrivateKeyKey: {}}
	if err := ignoreOutdated(r.writer.Update(ctx, secret)); err != nil {
		return fmt.Errorf("emptying Secret %s: %w", r.Secret, err)
	}
	return nil
}

// inject writes the wanted CAs into configurations that are not up to date.
func (r *reconciler) inject(ctx context.Context, s seen) error {
	var known []*x509.Certificate
	for _, bundle := range bundles(s.configurations) {
		authorities, _ := parseBundle(bundle)
		known = append(known, authorities...)
	}
	current := s.ca
	if current != nil && !ours(current) {
		current = nil
	}
	if current != nil {
		known = append(known, current)
	}
	known = append(known, r.servingCerts.recognise(known)...)
	wanted := wantedAuthorities(current, known, r.clock.Now(), r.overlap())
	if len(wanted) == 0 {
		return nil
	}
	// CAs that are no longer needed stay a little longer: otherwise, if the clocks of two replicas differ, one would remove a CA
	// and the other would add it again.
	mayStay := append(wantedAuthorities(current, known, r.clock.Now().Add(-r.overlap()/10), r.overlap()), wanted...)
	var failures []error
	for _, c := range s.configurations {
		if c.upToDate(wanted, mayStay) && r.pathsUpToDate(c) || !r.writes.TryAccept() {
			continue
		}
		failures = append(failures, r.write(ctx, c, wanted))
	}
	return errors.Join(failures...)
}

func (r *reconciler) pathsUpToDate(c configuration) bool {
	return !slices.ContainsFunc(c.hooks, func(h hook) bool { return h.path != r.wantedPath(h) })
}

func (r *reconciler) wantedPath(h hook) string {
	return r.paths.wanted(h.path, r.clock.Now(), r.settle())
}

// write applies bundle and paths to all webhooks of the configuration. It always includes the paths, because server-side apply
// would remove one that is left out. The resource version is the lock: replicas that read different Secrets cannot overwrite
// each other's bundle.
func (r *reconciler) write(ctx context.Context, c configuration, wanted []*x509.Certificate) error {
	bundle := base64.StdEncoding.EncodeToString(encodeBundle(wanted))
	hooks := make([]any, len(c.hooks))
	for i, hook := range c.hooks {
		client := map[string]any{"caBundle": bundle}
		if path := r.wantedPath(hook); path != "" {
			client["service"] = map[string]any{"path": path}
		}
		hooks[i] = map[string]any{"name": hook.name, "clientConfig": client}
	}
	patch := &unstructured.Unstructured{Object: map[string]any{"webhooks": hooks}}
	patch.SetGroupVersionKind(c.kind)
	patch.SetName(c.name)
	patch.SetResourceVersion(c.version)
	err := r.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(patch), client.FieldOwner(fieldManager), client.ForceOwnership)
	if err == nil {
		bundleWrites.Inc()
		log.FromContext(ctx).Info("Wrote caBundle", "kind", c.kind.Kind, "name", c.name, "authorities", len(wanted))
	}
	if err := ignoreOutdated(err); err != nil {
		return fmt.Errorf("writing caBundle of %s %s: %w", c.kind.Kind, c.name, err)
	}
	return nil
}

// ignoreOutdated drops conflict and not-found errors of a write. The change that caused them triggers the next pass.
func ignoreOutdated(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return client.IgnoreNotFound(err)
}

// verify returns nil if every caBundle verifies the certificate.
func (r *reconciler) verify(certificate *x509.Certificate, configurations []configuration) error {
	for _, bundle := range bundles(configurations) {
		if err := verify(certificate, bundle, r.host(), r.clock.Now()); err != nil {
			return err
		}
	}
	return nil
}

var errNotServing = errors.New("no serving certificate yet")

// check returns nil if the live caBundle of each of our webhooks verifies the serving certificate.
func (r *reconciler) check(ctx context.Context) error {
	serving := r.servingCerts.current()
	if serving == nil {
		return errNotServing
	}
	configurations, err := readConfigurations(ctx, r.reader, r.Configuration)
	if err != nil {
		return err
	}
	if err := r.verify(serving.Leaf, configurations); err != nil {
		return fmt.Errorf("caBundle of webhook configuration %s does not verify the serving certificate: %w", r.Configuration, err)
	}
	return nil
}

// ready is the readiness check. Unlike check, it does not wait for an unsynced cache, and it checks only the pod webhook: if the
// others are missing or damaged, pods should still get gates. If there is no pod webhook, it passes. The first certificate is
// valid from its creation; ready waits until the clocks of API servers have reached that time, too.
func (r *reconciler) ready(req *http.Request) error {
	ctx, cancel := context.WithTimeout(req.Context(), time.Second)
	defer cancel()
	serving := r.servingCerts.current()
	if serving == nil {
		return errNotServing
	}
	configurations, err := readConfigurations(ctx, r.reader, r.Configuration)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err := r.verify(serving.Leaf, podHook(configurations)); err != nil {
		return fmt.Errorf("caBundle of webhook %s does not verify the serving certificate: %w", readiness.PodWebhook, err)
	}
	if wait := r.servingCerts.current().Leaf.NotBefore.Add(r.clockSkew()).Sub(r.clock.Now()); wait > 0 {
		return fmt.Errorf("the serving certificate is not valid yet for API servers whose clocks are behind: ready in %s", wait)
	}
	return nil
}

// trust returns 1 if there is a configuration of that kind and all its webhooks trust the serving certificate, otherwise 0.
func (r *reconciler) trust(kind string, configurations []configuration) float64 {
	serving := r.servingCerts.current()
	for _, c := range configurations {
		if c.kind.Kind == kind && serving != nil && r.verify(serving.Leaf, []configuration{c}) == nil {
			return 1
		}
	}
	return 0
}

func (r *reconciler) report(s seen) {
	if serving := r.servingCerts.current(); serving != nil {
		setExpiry(servingCertificate, serving.Leaf)
	}
	if s.ca != nil {
		setExpiry(authorityCertificate, s.ca)
	}
	for _, kind := range configurationKinds {
		trusted.WithLabelValues(kind).Set(r.trust(kind, s.configurations))
	}
}
