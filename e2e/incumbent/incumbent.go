// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package incumbent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	// User is who aws-load-balancer-controller is to the API server where its chart is installed as usual.
	User = "system:serviceaccount:kube-system:aws-load-balancer-controller"
	// AccessKey is who it is to AWS.
	AccessKey = "incumbent"
)

// The back-off after a pass that failed, for each binding.
const (
	minBackoff = 5 * time.Millisecond
	maxBackoff = 1000 * time.Second
)

// Options say where the controller works. Config and AWS are required.
type Options struct {
	// Config is that of the API server, as User.
	Config *rest.Config
	// AWS is the URL of AWS's services.
	AWS string
	// Probe is how long it waits until it asks again for the health of a target whose pod is not Ready; 15 s by default.
	Probe time.Duration
}

// Incumbent is a running controller.
type Incumbent struct {
	client client.Client // reads from a cache
	stop   context.CancelFunc
	ended  chan error
}

// Start returns when the controller works. It does until Close.
func Start(ctx context.Context, options Options) (*Incumbent, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1beta1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("building the incumbent's scheme: %w", err)
	}
	mgr, err := ctrl.NewManager(options.Config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return nil, fmt.Errorf("building the incumbent's manager: %w", err)
	}
	c := &passes{
		client: mgr.GetClient(), pods: mgr.GetAPIReader(), recorder: mgr.GetEventRecorder("aws-load-balancer-controller"),
		targets: newGroups(options.AWS), probe: cmp.Or(options.Probe, 15*time.Second),
	}
	if err := c.setUp(mgr); err != nil {
		return nil, fmt.Errorf("building the incumbent's controller: %w", err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	i := &Incumbent{client: mgr.GetClient(), stop: stop, ended: make(chan error, 1)}
	go func() { i.ended <- mgr.Start(running) }()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return nil, errors.Join(errors.New("the incumbent's caches do not sync"), i.Close())
	}
	return i, nil
}

// Close ends the controller, with the passes that are under way.
func (i *Incumbent) Close() error {
	i.stop()
	return <-i.ended
}

// passes are what is needed for each.
type passes struct {
	client   client.Client
	pods     client.Reader
	recorder events.EventRecorder
	targets  *groups
	probe    time.Duration
}

// setUp has every event of a binding, its Service, its EndpointSlices and its pods wake it, whatever its back-off.
func (c *passes) setUp(mgr ctrl.Manager) error {
	skip := true // several may run in one process, one after the other
	return ctrl.NewControllerManagedBy(mgr).Named("incumbent").
		For(&v1beta1.TargetGroupBinding{}).
		Watches(&corev1.Service{}, handler.EnqueueRequestsFromMapFunc(c.ofService)).
		Watches(&discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(c.ofSlice)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(c.ofPod)).
		WithOptions(controller.Options{
			SkipNameValidation: &skip, MaxConcurrentReconciles: 3,
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minBackoff, maxBackoff),
		}).
		Complete(c)
}

func (c *passes) ofService(ctx context.Context, o client.Object) []reconcile.Request {
	return c.bindingsOf(ctx, o.GetNamespace(), func(b *v1beta1.TargetGroupBinding) bool { return b.Spec.ServiceRef.Name == o.GetName() })
}

func (c *passes) ofSlice(ctx context.Context, o client.Object) []reconcile.Request {
	service := o.GetLabels()[discoveryv1.LabelServiceName]
	return c.bindingsOf(ctx, o.GetNamespace(), func(b *v1beta1.TargetGroupBinding) bool { return b.Spec.ServiceRef.Name == service })
}

func (c *passes) ofPod(ctx context.Context, o client.Object) []reconcile.Request {
	return c.bindingsOf(ctx, o.GetNamespace(), func(b *v1beta1.TargetGroupBinding) bool { return hasGate(o.(*corev1.Pod), gateOf(b)) })
}

func (c *passes) bindingsOf(ctx context.Context, namespace string, is func(*v1beta1.TargetGroupBinding) bool) []reconcile.Request {
	var list v1beta1.TargetGroupBindingList
	if err := c.client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil // the cache is being stopped
	}
	var out []reconcile.Request
	for i := range list.Items {
		if b := &list.Items[i]; is(b) {
			out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: b.Namespace, Name: b.Name}})
		}
	}
	return out
}
