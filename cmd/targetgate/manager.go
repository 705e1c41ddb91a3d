// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/targetgate/targetgate/cmd/targetgate/command"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/endpoints/wire"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

func setUpLogging(opts *options) {
	level := slog.LevelInfo
	if opts.LogLevel == "debug" {
		level = slog.LevelDebug
	}
	handler := slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level})
	logger := logr.FromSlogHandler(handler)
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	for _, flag := range opts.ignoredFlags {
		logger.Info("Ignoring a flag that has no effect in targetgate", "flag", flag)
	}
}

// RBAC limits get and update to the lease's name. It cannot limit create, because a new object has no name to check yet.
//
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=create,namespace=targetgate-system
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,resourceNames=aws-load-balancer-controller-leader,verbs=get;update,namespace=targetgate-system

// newManager returns the manager with caches, indexes, leader election, webhook server, metrics and probes; it starts nothing. It waits for
// the API server, because exiting would put the pod into back-off for minutes, and stores the server's version in the
// options. The manager is ready only until shutdown begins.
func newManager(ctx context.Context, opts *options, duck *lameDuck) (ctrl.Manager, error) {
	cfg, err := command.KubeConfig(opts.Kubeconfig, "")
	if err != nil {
		return nil, err
	}
	if opts.Termination.ServerVersion, err = awaitAPIServer(ctx, cfg); err != nil {
		return nil, err
	}
	scheme, err := command.NewScheme()
	if err != nil {
		return nil, err
	}
	certificates, err := newCertificates(&opts.Certificates)
	if err != nil {
		return nil, err
	}
	server, err := webhookServer(opts, certificates)
	if err != nil {
		return nil, err
	}
	lease, err := newLease(cfg, opts)
	if err != nil {
		return nil, err
	}
	cached := cacheOptions(opts)
	if cached.HTTPClient, err = wire.NewClient(cfg); err != nil {
		return nil, fmt.Errorf("creating the caches' HTTP client: %w", err)
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                              scheme,
		Cache:                               cached,
		LeaderElection:                      opts.LeaderElection,
		LeaderElectionID:                    opts.LeaderElectionID,
		LeaderElectionNamespace:             opts.LeaderElectionNamespace,
		LeaderElectionResourceLockInterface: lease,
		LeaderElectionReleaseOnCancel:       true, // safe: the process exits when Start returns, so nothing works without the lease
		Metrics:                             metricsserver.Options{BindAddress: "0"},
		WebhookServer:                       &politeServer{Server: server, duck: duck},
	})
	if err != nil {
		return nil, fmt.Errorf("building manager: %w", err)
	}
	return mgr, errors.Join(
		ownership.AddIndexes(ctx, mgr.GetFieldIndexer()), certificates.SetupWithManager(mgr),
		addMetrics(ctx, mgr, opts.MetricsAddr), addProbes(ctx, mgr, opts.HealthProbeAddr, certificates.Ready, duck.check))
}

// awaitAPIServer waits until the API server lists its API groups, which everything else needs, and returns its version. It
// fails when ctx ends.
func awaitAPIServer(ctx context.Context, cfg *rest.Config) (serverVersion string, err error) {
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return "", fmt.Errorf("creating API client: %w", err)
	}
	err = wait.PollUntilContextCancel(ctx, 2*time.Second, true, func(context.Context) (bool, error) {
		_, groupsErr := client.ServerGroups()
		info, versionErr := client.ServerVersion()
		if err := errors.Join(groupsErr, versionErr); err != nil {
			ctrl.Log.Info("API server does not answer, retrying", "err", err.Error())
			return false, nil
		}
		serverVersion = info.GitVersion
		return true, nil
	})
	return serverVersion, err
}

// newLease returns a lease whose holder is the pod, or a random identity if the pod is unknown. A container that restarts
// in its pod then has its lease at once. Otherwise it would wait 15 s for its own old lease to expire, while no terminating
// pod is deregistered. If the namespace is known, controller-runtime does not create the lease, because it would also need
// permission for events.
func newLease(cfg *rest.Config, opts *options) (resourcelock.Interface, error) {
	if !opts.LeaderElection || opts.LeaderElectionNamespace == "" {
		return nil, nil
	}
	identity := cmp.Or(opts.Identity, string(uuid.NewUUID()))
	lease, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, opts.LeaderElectionNamespace,
		opts.LeaderElectionID, resourcelock.ResourceLockConfig{Identity: identity}, cfg, renewDeadline)
	if err != nil {
		return nil, fmt.Errorf("creating lease lock: %w", err)
	}
	return lease, nil
}

// renewDeadline is controller-runtime's default.
const renewDeadline = 10 * time.Second

func cacheOptions(opts *options) cache.Options {
	out := cache.Options{
		SyncPeriod: &opts.SyncPeriod, DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Node{}: {Transform: endpoints.StripNode}, &corev1.Pod{}: {Transform: endpoints.StripPod},
			&discoveryv1.EndpointSlice{}:  {Transform: endpoints.StripSlice},
			&v1beta1.TargetGroupBinding{}: {Transform: endpoints.StripBinding},
			&networkingv1.Ingress{}:       {Transform: opts.Provision.Ingress.Sizes().Strip()},
		},
	}
	if len(opts.WatchNamespaces) > 0 {
		out.DefaultNamespaces = map[string]cache.Config{}
		for _, namespace := range opts.WatchNamespaces {
			out.DefaultNamespaces[namespace] = cache.Config{}
		}
	}
	return out
}
