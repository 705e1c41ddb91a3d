// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// retryDelay is the wait after node ports could not be opened.
const retryDelay = time.Second

// Node is one that has node ports.
type Node struct {
	Name     string
	Address  netip.Addr      // where it listens
	Context  context.Context // ends with the node
	IsSilent func() bool     // it is cut off: its node ports stay as they are
}

// Options are what a Proxy needs. Go runs functions that end with their nodes, or with the Proxy.
type Options struct {
	Informer informers.SharedInformerFactory
	Nodes    func() []*Node
	Go       func(func())
	Clock    clock.Clock
	Log      logr.Logger
}

// Proxy plays kube-proxy's part on all nodes, as far as node ports go: each node listens on its own address at the node
// ports of the Services and passes connections on to their pods. One goroutine (Run) opens and closes.
type Proxy struct {
	Options
	services corelisters.ServiceLister
	slices   discoverylisters.EndpointSliceLister
	wake     chan struct{} // buffered: something changed
	doors    map[doorKey]*door
}

// doorKey names a socket: a node port of a node.
type doorKey struct {
	node *Node
	port int32
}

// New watches nothing before Watch.
func New(o Options) *Proxy {
	return &Proxy{
		Options:  o,
		services: o.Informer.Core().V1().Services().Lister(),
		slices:   o.Informer.Discovery().V1().EndpointSlices().Lister(),
		wake:     make(chan struct{}, 1),
		doors:    map[doorKey]*door{},
	}
}

// Watch has every change of Services and EndpointSlices looked at; the functions say when all that is there was seen.
func (p *Proxy) Watch() ([]cache.InformerSynced, error) {
	changed := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { p.Poke() }, UpdateFunc: func(any, any) { p.Poke() }, DeleteFunc: func(any) { p.Poke() },
	}
	var synced []cache.InformerSynced
	for _, informer := range []cache.SharedIndexInformer{
		p.Informer.Core().V1().Services().Informer(),
		p.Informer.Discovery().V1().EndpointSlices().Informer(),
	} {
		registration, err := informer.AddEventHandler(changed)
		if err != nil {
			return nil, fmt.Errorf("watching services: %w", err)
		}
		synced = append(synced, registration.HasSynced)
	}
	return synced, nil
}

// Poke makes Run look; it never blocks.
func (p *Proxy) Poke() {
	select {
	case p.wake <- struct{}{}:
	default: // a look is due already
	}
}

// Run opens and closes node ports until ctx ends.
func (p *Proxy) Run(ctx context.Context) {
	defer func() {
		for _, d := range p.doors {
			d.close()
		}
	}()
	for {
		var retry <-chan time.Time
		if err := p.sync(); err != nil {
			p.Log.Error(err, "Node ports will be looked at again")
			retry = p.Clock.After(retryDelay)
		}
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-retry:
		}
	}
}

// sync opens, closes and points the doors as the Services say. Those of a node that is cut off stay as they are.
func (p *Proxy) sync() error {
	services, err := p.services.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("listing services: %w", err)
	}
	wanted := map[doorKey][]netip.AddrPort{}
	for _, n := range p.Nodes() {
		for _, service := range services {
			if err := p.want(n, service, wanted); err != nil {
				return err
			}
		}
	}
	p.close(wanted)
	var errs []error
	for key, backends := range wanted {
		if !key.node.IsSilent() {
			errs = append(errs, p.point(key, backends))
		}
	}
	return errors.Join(errs...)
}

// close ends the doors that lead nowhere any more.
func (p *Proxy) close(wanted map[doorKey][]netip.AddrPort) {
	for key, d := range p.doors {
		removed := key.node.Context.Err() != nil
		if removed || !key.node.IsSilent() && len(wanted[key]) == 0 {
			d.close()
			delete(p.doors, key)
		}
	}
}

// want adds where a Service's node ports lead from a node. No backend is no listener: the connection is refused.
func (p *Proxy) want(n *Node, service *corev1.Service, into map[doorKey][]netip.AddrPort) error {
	if service.Spec.Type != corev1.ServiceTypeNodePort && service.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return nil
	}
	selector := labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service.Name})
	slices, err := p.slices.EndpointSlices(service.Namespace).List(selector)
	if err != nil {
		return fmt.Errorf("listing endpoint slices: %w", err)
	}
	local := ""
	if service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
		local = n.Name
	}
	for _, port := range service.Spec.Ports {
		if port.NodePort == 0 || port.Protocol != corev1.ProtocolTCP && port.Protocol != "" {
			continue
		}
		if found := backends(slices, port.Name, local); len(found) > 0 {
			into[doorKey{n, port.NodePort}] = found
		}
	}
	return nil
}

// point opens a door if it is not open, and makes it lead to the backends.
func (p *Proxy) point(key doorKey, backends []netip.AddrPort) error {
	if d, open := p.doors[key]; open {
		d.backends.Store(&backends)
		return nil
	}
	d, err := p.openDoor(key, backends)
	if err != nil {
		return fmt.Errorf("opening node port of %s: %w", key.node.Name, err)
	}
	p.doors[key] = d
	return nil
}
