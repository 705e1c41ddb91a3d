// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"time"

	cmtls "github.com/cert-manager/cert-manager/pkg/server/tls"
	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Shorter lifetimes leave no time for a rotation: the library looks for an ageing CA every 10 s, and a certificate has to
// settle. A CA must also live at least twice as long as its certificates.
const (
	MinCertDuration = 20 * time.Second
	MinCADuration   = time.Minute
)

// MaxCADuration is the longest lifetime of a CA. A CA with a longer one is not ours, and is replaced.
const MaxCADuration = 10 * 365 * 24 * time.Hour

// Options says which certificates targetgate creates.
type Options struct {
	// Namespace is targetgate's own, and that of the Secret and the Service.
	Namespace string
	// Service is the one that the webhook configurations call. Certificates are for <Service>.<Namespace>.svc.
	Service string
	// Secret holds the CA. Any other content is replaced.
	Secret string
	// Configuration is the name of both the mutating and the validating webhook configuration.
	Configuration string
	// CADuration and CertDuration are lifetimes. Both are renewed when a third is left.
	CADuration, CertDuration time.Duration
	// SecretPaths starts the webhooks' paths with a secret. Binding reviews without it are not answered.
	SecretPaths bool
}

// host is the DNS name that API servers expect in the certificate.
func (o Options) host() string { return o.Service + "." + o.Namespace + ".svc" }

// maxSettle is how long caBundle must contain a CA before a certificate of this CA is served. API servers see the change by
// watch, usually within milliseconds, and their clocks may be behind ours by less than this. The first certificate has no
// predecessor to serve, so it waits only for maxClockSkew.
const maxSettle = 10 * time.Second

// maxClockSkew is how far an API server's clock may be behind ours when a replica starts. NTP keeps the clocks of nodes within
// milliseconds, and a start should be fast.
const maxClockSkew = 2 * time.Second

// settle is less than a third of the time that a certificate has left when it is renewed.
func (o Options) settle() time.Duration { return min(maxSettle, o.CertDuration/10) }

// overlap is how long the previous CA stays in caBundle. Replicas change to the new one within about 30 s; the rest is for
// replicas that cannot reach the API server for a while, though it reaches them. No CA is needed longer than its certificates
// live.
func (o Options) overlap() time.Duration { return min(maxOverlap, o.CertDuration) + o.settle() }

const maxOverlap = time.Hour

func (o Options) clockSkew() time.Duration { return min(maxClockSkew, o.settle()) }

// SelfMade serves certificates that targetgate creates, and keeps caBundle so that API servers trust them. It works on every
// replica.
type SelfMade struct {
	reconciler *reconciler
	cache      cache.Cache
	source     cmtls.CertificateSource
	changed    chan struct{}
	log        logr.Logger
}

// NewSelfMade returns a SelfMade that serves nothing before SetupWithManager.
func NewSelfMade(options Options) *SelfMade {
	return &SelfMade{
		reconciler: &reconciler{
			Options: options, clock: clock.RealClock{}, servingCerts: servingCerts{settle: options.settle()}, paths: newPaths(options.SecretPaths),
			writes: flowcontrol.NewTokenBucketRateLimiter(1, 10),
		},
		changed: make(chan struct{}, 1),
	}
}

// GetCertificate is for tls.Config. It fails until there is a certificate.
func (s *SelfMade) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if certificate := s.reconciler.servingCerts.current(); certificate != nil {
		return certificate, nil
	}
	if s.source == nil {
		return nil, cmtls.ErrNotAvailable
	}
	return s.source.GetCertificate(hello)
}

// SetupWithManager adds itself to the manager.
func (s *SelfMade) SetupWithManager(mgr ctrl.Manager) error {
	s.log = mgr.GetLogger().WithName("certificates")
	s.source = newSource(s.reconciler.Options, mgr.GetConfig())
	s.reconciler.newest = s.newest
	s.reconciler.writer = mgr.GetClient()
	if err := s.watch(mgr); err != nil {
		return err
	}
	return mgr.Add(s)
}

// Ready checks that API servers that trust the CA of the webhook configurations would accept the certificate.
func (s *SelfMade) Ready(req *http.Request) error { return s.reconciler.ready(req) }

func (s *SelfMade) newest() *tls.Certificate {
	certificate, err := s.source.GetCertificate(nil)
	if err != nil {
		return nil // there is none yet
	}
	return certificate
}

// watch prepares a separate cache for the Secret and the configurations. Without permission for these, the manager's cache
// would never sync, and nothing would work.
func (s *SelfMade) watch(mgr ctrl.Manager) (err error) {
	named := func(name string) fields.Selector { return fields.OneTermEqualSelector("metadata.name", name) }
	configuration := cache.ByObject{Field: named(s.reconciler.Configuration)}
	objects := map[client.Object]cache.ByObject{
		&corev1.Secret{}: {Field: named(s.reconciler.Secret), Namespaces: map[string]cache.Config{s.reconciler.Namespace: {}}},
		&admissionregistrationv1.MutatingWebhookConfiguration{}:   configuration,
		&admissionregistrationv1.ValidatingWebhookConfiguration{}: configuration,
	}
	s.cache, err = cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		DefaultTransform: cache.TransformStripManagedFields(), ByObject: objects,
	})
	if err != nil {
		return fmt.Errorf("creating webhook configuration cache: %w", err)
	}
	s.reconciler.reader = s.cache
	for object := range objects {
		informer, err := s.cache.GetInformer(context.Background(), object)
		if err != nil {
			return fmt.Errorf("watching %T: %w", object, err)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { s.notify() }, UpdateFunc: func(any, any) { s.notify() }, DeleteFunc: func(any) { s.notify() },
		}); err != nil {
			return fmt.Errorf("watching %T: %w", object, err)
		}
	}
	return nil
}

// notify triggers a pass, unless one is pending.
func (s *SelfMade) notify() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// NeedLeaderElection returns false: every replica serves.
func (s *SelfMade) NeedLeaderElection() bool { return false }

// Start works until ctx ends. After that, the last certificate is still served.
func (s *SelfMade) Start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(logr.NewContext(ctx, s.log))
	group.Go(func() error { return s.cache.Start(ctx) })
	group.Go(func() error { return s.source.Start(logr.NewContext(ctx, s.log.V(1))) }) // it logs every attempt
	group.Go(func() error { return s.keep(ctx) })
	return group.Wait()
}

// startInterval is the time between passes until a certificate is served.
const startInterval = 100 * time.Millisecond

// interval is the time between passes without an event: certificates settle, and the library does not report new ones. A
// fiftieth of a certificate's lifetime is often enough, and with a lifetime of days so is every 10 s.
func (s *SelfMade) interval() time.Duration {
	if s.reconciler.servingCerts.current() == nil {
		return startInterval
	}
	return min(s.reconciler.CertDuration/50, maxSettle)
}

// keep runs a pass after every change, and from time to time. It logs the error of a pass when it changes.
func (s *SelfMade) keep(ctx context.Context) error {
	s.cache.WaitForCacheSync(ctx)
	trouble := ""
	for {
		err := s.reconciler.pass(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if now := text(err); now != trouble {
			trouble = now
			s.log.Info("API server trust in the serving certificate changed", "trusted", err == nil, "err", now)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.changed:
		case <-s.reconciler.clock.After(s.interval()):
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
