// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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

// Lifetimes below these leave no time for a rotation: the library looks for an ageing CA every 10 s, and a certificate
// has to settle. A CA has to live for twice the lifetime of its certificates, too.
const (
	MinCertDuration = 20 * time.Second
	MinCADuration   = time.Minute
)

// MaxCADuration is the longest life of a CA: one that lives longer is somebody else's, and is replaced.
const MaxCADuration = 10 * 365 * 24 * time.Hour

// Options say what targetgate makes for itself, and for whom.
type Options struct {
	// Namespace is the own one, of the Secret and the Service.
	Namespace string
	// Service is what the webhook configurations call. Certificates are for <Service>.<Namespace>.svc.
	Service string
	// Secret is where the CA is. What is not a CA of targetgate's in it is replaced.
	Secret string
	// Configuration is the name of the mutating and of the validating webhook configuration.
	Configuration string
	// CADuration and CertDuration are lifetimes. Both are renewed when a third is left.
	CADuration, CertDuration time.Duration
	// SecretPaths has the webhooks' paths begin with a secret, and who does not know it not be answered about bindings.
	SecretPaths bool
}

// host is what API servers expect a certificate for.
func (o Options) host() string { return o.Service + "." + o.Namespace + ".svc" }

// maxSettle is for how long caBundle has to carry a CA before a certificate of this CA is served. API servers learn of
// the change by a watch, usually within milliseconds; and a clock of theirs that is behind ours by less does no harm. The
// first certificate has nothing to be served before it, and only maxClockSkew.
const maxSettle = 10 * time.Second

// maxClockSkew is by how much a clock of an API server may be behind ours when a replica starts. Clocks of nodes are kept
// within milliseconds by NTP, and a start should not take long.
const maxClockSkew = 2 * time.Second

// settle takes less than a third of the time that a certificate has left when it is renewed.
func (o Options) settle() time.Duration { return min(maxSettle, o.CertDuration/10) }

// overlap is for how long the CA before stays in caBundle. Replicas change to the new one within some 30 s; the rest is for those
// that cannot reach the API server meanwhile, though it reaches them. No certificate is needed for longer than it lives.
func (o Options) overlap() time.Duration { return min(maxOverlap, o.CertDuration) + o.settle() }

const maxOverlap = time.Hour

func (o Options) clockSkew() time.Duration { return min(maxClockSkew, o.settle()) }

// SelfMade serves with certificates that targetgate makes itself, and keeps caBundle such that API servers trust them.
// It works on every replica.
type SelfMade struct {
	keeper  *keeper
	cache   cache.Cache
	source  cmtls.CertificateSource
	changed chan struct{}
	log     logr.Logger
}

// NewSelfMade returns what serves nothing before SetupWithManager.
func NewSelfMade(options Options) *SelfMade {
	return &SelfMade{
		keeper: &keeper{
			Options: options, clock: clock.RealClock{}, leaves: leaves{settle: options.settle()}, paths: newPaths(options.SecretPaths),
			writes: flowcontrol.NewTokenBucketRateLimiter(1, 10),
		},
		changed: make(chan struct{}, 1),
	}
}

// GetCertificate is for tls.Config. It fails as long as there is no certificate.
func (s *SelfMade) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if certificate := s.keeper.leaves.current(); certificate != nil {
		return certificate, nil
	}
	if s.source == nil {
		return nil, cmtls.ErrNotAvailable
	}
	return s.source.GetCertificate(hello)
}

// SetupWithManager adds the work to the manager, and the readiness check "certificate".
func (s *SelfMade) SetupWithManager(mgr ctrl.Manager) error {
	s.log = mgr.GetLogger().WithName("certificates")
	s.source = newSource(s.keeper.Options, mgr.GetConfig())
	s.keeper.newest = s.newest
	s.keeper.writer = mgr.GetClient()
	if err := s.watch(mgr); err != nil {
		return err
	}
	return errors.Join(mgr.Add(s), mgr.AddReadyzCheck("certificate", s.keeper.ready))
}

func (s *SelfMade) newest() *tls.Certificate {
	certificate, err := s.source.GetCertificate(nil)
	if err != nil {
		return nil // there is none yet
	}
	return certificate
}

// watch prepares a cache of its own for the Secret and the configurations: without permission for these the manager's
// would never sync, and nothing at all would work.
func (s *SelfMade) watch(mgr ctrl.Manager) (err error) {
	named := func(name string) fields.Selector { return fields.OneTermEqualSelector("metadata.name", name) }
	configuration := cache.ByObject{Field: named(s.keeper.Configuration)}
	objects := map[client.Object]cache.ByObject{
		&corev1.Secret{}: {Field: named(s.keeper.Secret), Namespaces: map[string]cache.Config{s.keeper.Namespace: {}}},
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
	s.keeper.reader = s.cache
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

// notify causes a pass, unless one is due anyway.
func (s *SelfMade) notify() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// NeedLeaderElection says that every replica serves.
func (s *SelfMade) NeedLeaderElection() bool { return false }

// Start works until ctx ends. Afterwards the last certificate goes on being served.
func (s *SelfMade) Start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(logr.NewContext(ctx, s.log))
	group.Go(func() error { return s.cache.Start(ctx) })
	group.Go(func() error { return s.source.Start(logr.NewContext(ctx, s.log.V(1))) }) // it tells of every try
	group.Go(func() error { return s.keep(ctx) })
	return group.Wait()
}

// startInterval is the time between passes as long as nothing is served.
const startInterval = 100 * time.Millisecond

// interval is the time between passes when nothing changes that we are told of: certificates settle, and the library
// does not say when it has a new one. A fiftieth of a certificate's life is soon enough for that, and with a life of days
// so are 10 s.
func (s *SelfMade) interval() time.Duration {
	if s.keeper.leaves.current() == nil {
		return startInterval
	}
	return min(s.keeper.CertDuration/50, maxSettle)
}

// keep does a pass whenever something has changed, and from time to time. It logs what goes wrong when that changes.
func (s *SelfMade) keep(ctx context.Context) error {
	s.cache.WaitForCacheSync(ctx)
	trouble := ""
	for {
		err := s.keeper.pass(ctx)
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
		case <-s.keeper.clock.After(s.interval()):
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
