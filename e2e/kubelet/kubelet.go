// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/e2e/kubelet/app"
	"github.com/targetgate/targetgate/e2e/kubelet/proxy"
)

// Kubelet is the agents of all nodes together. It is safe for concurrent use.
type Kubelet struct {
	client  kubernetes.Interface
	clock   clock.Clock
	log     logr.Logger
	scale   float64
	journal *journal
	proxy   *proxy.Proxy
	reuse   bool // see Options.ReuseAddresses

	ctx      context.Context
	cancel   context.CancelFunc
	informer informers.SharedInformerFactory
	store    cache.Store
	work     sync.WaitGroup // every goroutine but the informer's

	mu    sync.Mutex
	nodes map[string]*node
	added int // how many nodes there ever were
	pods  map[types.UID]*pod
	apps  map[appKey]*app.App
}

// appKey names a container; the empty container is the first one of spec.containers.
type appKey struct{ namespace, pod, container string }

// Start registers the nodes and begins to run the pods that are bound to them, those that are bound already among them. It
// returns when the pods are known. Everything ends when ctx does, or with Close.
func Start(ctx context.Context, options Options) (*Kubelet, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("reading options: %w", err)
	}
	client, err := options.client()
	if err != nil {
		return nil, fmt.Errorf("making client: %w", err)
	}
	k := newKubelet(ctx, options, client)
	if err := k.start(options); err != nil {
		k.Close()
		return nil, err
	}
	return k, nil
}

func newKubelet(ctx context.Context, options Options, client kubernetes.Interface) *Kubelet {
	k := &Kubelet{
		client: client, clock: options.Clock, log: options.Log, scale: options.Scale,
		nodes: map[string]*node{}, added: len(options.Nodes), journal: newJournal(), reuse: options.ReuseAddresses,
		informer: informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(dropManagedFields)),
		pods:     map[types.UID]*pod{}, apps: map[appKey]*app.App{},
	}
	k.ctx, k.cancel = context.WithCancel(ctx)
	for _, n := range options.Nodes {
		k.nodes[n.Name] = newNode(k.ctx, n, client, k.reuse)
	}
	k.proxy = proxy.New(proxy.Options{
		Informer: k.informer, Nodes: k.nodePorts, Go: k.work.Go, Clock: k.clock, Log: k.log,
	})
	return k
}

func (k *Kubelet) start(options Options) error {
	for _, n := range k.allNodes() {
		if err := n.register(k.ctx, k.clock.Now()); err != nil {
			return err
		}
	}
	k.work.Go(func() { k.heartbeat(options.HeartbeatInterval) })
	informer := k.informer.Core().V1().Pods().Informer()
	k.store = informer.GetStore()
	registration, err := informer.AddEventHandler(k.handler())
	if err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	proxied, err := k.proxy.Watch()
	if err != nil {
		return err
	}
	k.informer.Start(k.ctx.Done())
	if !cache.WaitForCacheSync(k.ctx.Done(), append(proxied, registration.HasSynced)...) {
		return fmt.Errorf("watching the cluster: %w", k.ctx.Err())
	}
	k.work.Go(func() { k.proxy.Run(k.ctx) })
	return nil
}

// Close stops everything at once: connections are cut, nothing is written to the API server any more. It returns when no
// goroutine of the Kubelet is left. It may be called again.
func (k *Kubelet) Close() {
	k.cancel()
	k.informer.Shutdown()
	k.work.Wait()
}

// App returns the program in the pod's first container, once it has started; it is still there when the pod has gone, until a
// pod of the same name starts.
func (k *Kubelet) App(namespace, pod string) (*app.App, bool) { return k.AppIn(namespace, pod, "") }

// AppIn is App for the named container.
func (k *Kubelet) AppIn(namespace, pod, container string) (*app.App, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	one, found := k.apps[appKey{namespace, pod, container}]
	return one, found
}

// Moments returns all that was noted so far, in that order.
func (k *Kubelet) Moments() []Moment { return k.journal.copy() }

// ForceAddress gives ip to every pod of that name that starts on the node that ip belongs to. It does not start before no
// other pod has that address.
func (k *Kubelet) ForceAddress(pod types.NamespacedName, ip string) error {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return fmt.Errorf("reading address: %w", err)
	}
	for _, n := range k.allNodes() {
		if n.PodCIDR.Contains(addr) {
			n.addresses.Force(pod, addr)
			return nil
		}
	}
	return fmt.Errorf("no node has address %s", ip)
}

func (k *Kubelet) scaled(d time.Duration) time.Duration { return time.Duration(float64(d) * k.scale) }

func (k *Kubelet) unscaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) / k.scale)
}

func (k *Kubelet) seconds(n int32) time.Duration { return k.scaled(time.Duration(n) * time.Second) }

// client is the given one, or one without client-side rate limits: each node of a real cluster has its own.
func (o Options) client() (kubernetes.Interface, error) {
	if o.Client != nil {
		return o.Client, nil
	}
	config := rest.CopyConfig(o.Config)
	config.QPS = -1
	config.UserAgent = "kubelet-standin"
	return kubernetes.NewForConfig(config)
}

// dropManagedFields saves memory: nothing here reads them.
func dropManagedFields(object any) (any, error) {
	if p, ok := object.(*corev1.Pod); ok {
		p.ManagedFields = nil
	}
	return object, nil
}
