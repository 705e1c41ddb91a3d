// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/klog/v2"

	"github.com/targetgate/targetgate/e2e/kubelet/status"
)

// retryDelay is the wait after a failed call to the API server.
const retryDelay = time.Second

// pod is one pod on one of the nodes, from when it is seen bound until it is gone. One goroutine (run) does its work.
type pod struct {
	kubelet *Kubelet
	node    *node
	uid     types.UID
	ctx     context.Context // ends when the pod is to be cut
	cancel  context.CancelFunc
	wake    chan struct{} // buffered: something changed
	stopped chan struct{} // closed when termination has ended every container
	ended   chan struct{} // closed when run returns: nothing of the pod runs

	mu     sync.Mutex
	latest *corev1.Pod // never changed in place
	ip     netip.Addr  // not valid before launch
	ending *int64      // the grace period that a shutdown of its node leaves it; nil when there was none
	over   bool        // it has ended for good, and the API server is being told so, or knows

	// Set once, by launch.
	start      metav1.Time
	containers []*container
	sidecars   []*container

	// Used by run alone.
	dying *deadline // nil until the deletion is acted upon
	grace int64     // the grace period that dying stands for
}

// run does what the pod's state asks for, each time something changed, until the pod is cut.
func (p *pod) run() {
	defer close(p.ended)
	var retry <-chan time.Time
	stopped := p.stopped
	for {
		select {
		case <-p.ctx.Done():
			p.cut()
			return
		case <-p.wake:
		case <-retry:
		case <-stopped:
			stopped = nil
		}
		retry = nil
		if err := p.step(); err != nil && p.ctx.Err() == nil {
			p.kubelet.log.Error(err, "Pod will be looked at again", "pod", klog.KObj(p.object()), "node", p.node.Name)
			retry = p.kubelet.clock.After(retryDelay)
		}
	}
}

// step compares what is with what should be. It is silent while the node is cut off.
func (p *pod) step() error {
	if p.node.silent.Load() {
		return nil
	}
	object := p.object()
	if p.containers == nil {
		if object.DeletionTimestamp != nil {
			return p.remove() // it never ran here
		}
		if isOver(object) {
			return nil
		}
		if p.node.shutdown.Load() != nil {
			return p.reject(object)
		}
		if err := p.launch(object); err != nil {
			return err
		}
	}
	if grace := p.graceToEnd(object); grace != nil {
		p.die(*grace)
	}
	stopped := p.hasStopped() // read before the status: that one must tell of the last exits
	if err := p.report(stopped); err != nil || !stopped {
		return err
	}
	if object.DeletionTimestamp == nil {
		return nil // it has ended with its node, and stays until somebody deletes it
	}
	return p.remove()
}

// launch gives the pod its address and starts its containers.
func (p *pod) launch(object *corev1.Pod) error {
	ip := p.node.hostIP()
	if !object.Spec.HostNetwork {
		var err error
		name := types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
		if ip, err = p.node.addresses.Take(name, object.Status.PodIP); err != nil {
			return fmt.Errorf("allocating pod address: %w", err)
		}
	}
	p.mu.Lock()
	p.ip = ip
	p.mu.Unlock()
	p.start = seconds(p.now())
	for _, spec := range object.Spec.InitContainers {
		if status.IsSidecar(spec) {
			p.sidecars = append(p.sidecars, newContainer(p, spec, true))
		}
	}
	for _, spec := range object.Spec.Containers {
		p.containers = append(p.containers, newContainer(p, spec, false))
	}
	for _, c := range p.all() {
		p.kubelet.remember(object, c)
		process, started := c.start()
		p.kubelet.work.Go(func() { c.run(process, started) })
	}
	return nil
}

// report writes the status if it differs from what the API server has. As in remove, the call outlives the pod's being cut:
// it is short, and breaking it off would say nothing about whether it took effect.
func (p *pod) report(stopped bool) error {
	object := p.object()
	f := status.Facts{
		PodIP: p.address(), HostIP: p.node.hostIP().String(), Start: p.start, Stopped: stopped, Shutdown: stopped && p.endsWithNode(),
		Containers: statuses(p.containers), Sidecars: statuses(p.sidecars),
	}
	want := status.Desired(object, f, seconds(p.now()))
	p.noteEnd(want)
	patch, err := status.Patch(p.uid, object.Status, want)
	if err != nil || patch == nil {
		return err
	}
	pods := p.kubelet.client.CoreV1().Pods(object.Namespace)
	updated, err := pods.Patch(p.kubelet.ctx, object.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		return nil // the watch will tell
	}
	if err != nil {
		return fmt.Errorf("writing pod status: %w", err)
	}
	p.noteReadiness(object, updated)
	p.see(updated)
	return nil
}

// remove takes the pod out of the API: the last thing a kubelet does for it.
func (p *pod) remove() error {
	object := p.object()
	var now int64
	options := metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &p.uid}}
	err := p.kubelet.client.CoreV1().Pods(object.Namespace).Delete(p.kubelet.ctx, object.Name, options)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("removing pod: %w", err)
	}
	return nil
}

// cut ends everything at once and waits until nothing of the pod runs.
func (p *pod) cut() {
	for _, c := range p.all() {
		if process := c.halt(); process != nil {
			process.Kill()
		}
		<-c.done
	}
	if p.ip.IsValid() && p.ip != p.node.hostIP() {
		p.node.addresses.Free(p.ip)
	}
}

// see takes a newer state of the pod from the API server; an older one is ignored.
func (p *pod) see(object *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	order, err := resourceversion.CompareResourceVersion(object.ResourceVersion, p.latest.ResourceVersion)
	if err == nil && order <= 0 {
		return
	}
	if p.latest.DeletionTimestamp == nil && object.DeletionTimestamp != nil {
		p.noteLocked(DeletionSeen, "")
	}
	p.latest = object
	p.poke()
}

// poke makes run look at the pod; it never blocks.
func (p *pod) poke() {
	select {
	case p.wake <- struct{}{}:
	default: // a look is due already
	}
}
