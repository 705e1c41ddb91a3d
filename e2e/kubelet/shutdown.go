// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/e2e/kubelet/status"
)

// What a kubelet says in a graceful shutdown (k8s.io/kubernetes v1.37, pkg/kubelet/nodeshutdown).
const (
	rejectedReason   = "NodeShutdown"
	rejectedMessage  = "Pod was rejected: Pod was rejected as the node is shutting down."
	criticalPriority = 2_000_000_000 // of system-cluster-critical; system-node-critical has more
)

// ShutdownGrace is how long a node's pods have in a graceful shutdown, in whole seconds before scaling, as in a kubelet's configuration.
type ShutdownGrace struct {
	// Period is for all pods: shutdownGracePeriod.
	Period time.Duration
	// CriticalPods is the part of Period that is kept for pods of critical priority: shutdownGracePeriodCriticalPods.
	CriticalPods time.Duration
}

func (g ShutdownGrace) validate() error {
	if g.CriticalPods < 0 || g.Period < time.Second || g.CriticalPods > g.Period {
		return fmt.Errorf("a grace period of %s, %s of it for critical pods, is none", g.Period, g.CriticalPods)
	}
	return nil
}

// shutdown is a graceful shutdown of a node.
type shutdown struct {
	ended chan struct{} // closed when the pods have had their time
}

// BeginShutdown has the node shut down gracefully, as when systemd asks its kubelet to let the machine go. The node says at once that it
// is not Ready, as it is shutting down, and takes no pods any more. Its pods are not deleted: their containers run their preStop hooks and
// get SIGTERM, with the shorter one of the pod's grace period and the shutdown's; regular pods first, critical ones when those have ended
// or had their time. A pod that has ended says so in its phase and has the condition DisruptionTarget; it is Failed, with a reason, unless
// all containers ended with 0. It stays in the API until somebody deletes it.
//
// It returns when the node's condition is written. The machine stays on: see RemoveNode, StopHeartbeat and CancelShutdown.
func (k *Kubelet) BeginShutdown(ctx context.Context, name string, grace ShutdownGrace) error {
	if err := grace.validate(); err != nil {
		return fmt.Errorf("shutting down node %s: %w", name, err)
	}
	n, found := k.node(name)
	if !found || n.silent.Load() {
		return fmt.Errorf("shutting down: there is no node %q, or it is cut off", name)
	}
	begun := false
	err := n.update(ctx, func() {
		s := &shutdown{ended: make(chan struct{})}
		if begun = n.shutdown.CompareAndSwap(nil, s); begun {
			k.work.Go(func() { k.endPods(s, k.on(n), grace) })
		}
	}, k.clock.Now())
	if !begun {
		return fmt.Errorf("shutting down: node %q does so already", name)
	}
	return err
}

// CancelShutdown has the node stay after all. As a kubelet, which hears of that no sooner, it first ends its pods as in BeginShutdown; then
// the node is Ready again. It returns when that is written.
func (k *Kubelet) CancelShutdown(ctx context.Context, name string) error {
	n, found := k.node(name)
	if !found {
		return fmt.Errorf("cancelling a shutdown: there is no node %q", name)
	}
	s := n.shutdown.Load()
	if s == nil {
		return fmt.Errorf("cancelling a shutdown: node %q is in none", name)
	}
	select {
	case <-s.ended:
	case <-ctx.Done():
		return fmt.Errorf("cancelling the shutdown of node %s: %w", name, ctx.Err())
	}
	return n.update(ctx, func() { n.shutdown.CompareAndSwap(s, nil) }, k.clock.Now())
}

// endPods ends the pods of the node, the critical ones last.
func (k *Kubelet) endPods(s *shutdown, pods []*pod, grace ShutdownGrace) {
	defer close(s.ended)
	var regular, critical []*pod
	for _, p := range pods {
		if p.hasEnded() {
			continue
		}
		if priority := p.object().Spec.Priority; priority != nil && *priority >= criticalPriority {
			critical = append(critical, p)
		} else {
			regular = append(regular, p)
		}
	}
	k.endGroup(regular, int64((grace.Period-grace.CriticalPods)/time.Second))
	k.endGroup(critical, int64(grace.CriticalPods/time.Second))
}

// endGroup returns when the pods have ended, or have had their time.
func (k *Kubelet) endGroup(pods []*pod, grace int64) {
	timer := k.clock.NewTimer(k.scaled(time.Duration(grace) * time.Second))
	defer timer.Stop()
	for _, p := range pods {
		p.endWithNode(grace)
	}
	for _, p := range pods {
		if p.address() == "" {
			continue // it never ran here, and will not
		}
		select {
		case <-p.stopped:
		case <-p.ended:
		case <-timer.C():
			return
		}
	}
}

// endWithNode has the pod end within so many seconds, or its own grace period.
func (p *pod) endWithNode(grace int64) {
	if own := p.object().Spec.TerminationGracePeriodSeconds; own != nil {
		grace = min(grace, *own)
	}
	grace = max(grace, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ending = &grace
	p.poke()
}

// graceToEnd is how long the pod has to end when somebody asks for that: its deletion or its node's shutdown, whichever gives it less.
// It is nil when nobody does.
func (p *pod) graceToEnd(object *corev1.Pod) *int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if object.DeletionTimestamp == nil {
		return p.ending
	}
	grace := gracePeriod(object)
	if p.ending != nil {
		grace = min(grace, *p.ending)
	}
	return &grace
}

func (p *pod) endsWithNode() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ending != nil
}

// reject refuses a pod that came to a node in its shutdown.
func (p *pod) reject(object *corev1.Pod) error {
	want := object.Status
	want.Phase, want.Reason, want.Message = corev1.PodFailed, rejectedReason, rejectedMessage
	patch, err := status.Patch(p.uid, object.Status, want)
	if err != nil || patch == nil {
		return err
	}
	pods := p.kubelet.client.CoreV1().Pods(object.Namespace)
	updated, err := pods.Patch(p.kubelet.ctx, object.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return ignoreNotFound(err)
	}
	p.see(updated)
	return nil
}
