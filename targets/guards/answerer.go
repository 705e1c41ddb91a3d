// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package guards

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/conditions"
	"github.com/targetgate/targetgate/targets/contest"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/writes"
)

const (
	// lookPause is the pause between looks while a guard waits for an answer that lets it leave.
	lookPause = time.Second
	// lookDelay is how long after a change the Answerer looks, so that many changes are one look.
	lookDelay = 250 * time.Millisecond
	// messagePause is the least time between two answers to a guard that differ only in their message.
	messagePause = 30 * time.Second
)

// Settings are what an Answerer works with.
type Settings struct {
	// Namespace is targetgate's own. Empty, there are no guards.
	Namespace string
	// Nodes reads Nodes from a cache.
	Nodes client.Reader
	// Left says which of the instances, of nodes that leave, are still in the target group of a binding, or may be, and names one such
	// binding for each. With isNew, some of them were not asked for before: the groups that have them must be read when they have drained.
	Left func(ctx context.Context, instances map[string]bool, isNew bool) (map[string]string, error)
	// Pods writes the answers.
	Pods  *readiness.Writer
	Clock clock.PassiveClock
}

// Answerer answers the guards, beside the passes. What it costs depends on how many guards there are; while no node leaves and no guard is
// deleted it does nothing. Safe for concurrent use.
type Answerer struct {
	Settings
	queue   *writes.Queue[types.UID]
	changed chan struct{} // buffered: look again

	mu      sync.Mutex
	guards  map[types.UID]*guard
	leaving map[string]bool // instances of guarded nodes that leave; replaced as a whole
}

// guard is what is known of one guard.
type guard struct {
	pod        *corev1.Pod // as the watch showed it last; read only
	asks       question
	since      time.Time        // since when it asks that
	next       readiness.Health // what is to be told
	queuedAt   time.Time        // when that was queued, zero before the first time
	answered   readiness.Health // what was told last, by this process
	answeredAt time.Time
	version    string    // of the pod since then
	lost       string    // the version of the pod in which somebody else had changed that
	retryAt    time.Time // nothing is told before this, as somebody else goes on to change it
	contest    contest.Contest
}

// NewAnswerer returns an Answerer that knows no guard, and does nothing before Start.
func NewAnswerer(settings Settings) *Answerer {
	queue := writes.NewQueue(writes.Guards, func(types.UID) string { return "" }) // all are in one namespace
	return &Answerer{Settings: settings, queue: queue, changed: make(chan struct{}, 1), guards: map[types.UID]*guard{}}
}

// Start has guards answered until ctx ends.
func (a *Answerer) Start(ctx context.Context) {
	a.queue.Start(ctx, a.write)
	go a.run(ctx)
}

// Leaving are the instances of guarded nodes that leave; read only.
func (a *Answerer) Leaving() map[string]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.leaving
}

// run looks when something has changed, and again while a guard waits.
func (a *Answerer) run(ctx context.Context) {
	for {
		var again <-chan time.Time
		if a.look(ctx) {
			again = time.After(lookPause)
		}
		select {
		case <-ctx.Done():
			return
		case <-again:
		case <-a.changed:
			select {
			case <-ctx.Done():
				return
			case <-time.After(lookDelay):
			}
		}
	}
}

// look has all guards told what there is to tell, and reports whether one of them waits.
func (a *Answerer) look(ctx context.Context) (waits bool) {
	nodes, err := a.nodes(ctx)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to read the nodes of node guards, will retry")
		return true
	}
	instances, isNew := a.noteLeaving(nodes)
	left, err := a.Left(ctx, instances, isNew)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to find the targets of nodes that leave, will retry")
		a.noteLeaving(nil) // they are new the next time
		return true
	}
	return a.tell(nodes, left)
}

// node is what is known of the node of a guard.
type node struct {
	instance string // empty when it is none
	leaves   bool
}

// nodes are those of the guards, by name, without those that the cache does not have.
func (a *Answerer) nodes(ctx context.Context) (map[string]node, error) {
	out := map[string]node{}
	for _, name := range a.nodeNames() {
		var found corev1.Node
		err := a.Nodes.Get(ctx, client.ObjectKey{Name: name}, &found, client.UnsafeDisableDeepCopy)
		switch {
		case err == nil:
			instance, _ := endpoints.InstanceID(&found)
			out[name] = node{instance, endpoints.IsLeaving(&found)}
		case !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("getting Node %s: %w", name, err)
		}
	}
	return out, nil
}

func (a *Answerer) nodeNames() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]string, 0, len(a.guards))
	for _, g := range a.guards {
		out = append(out, g.pod.Spec.NodeName)
	}
	return out
}

// noteLeaving notes which instances leave, and reports whether some did not before.
func (a *Answerer) noteLeaving(nodes map[string]node) (instances map[string]bool, isNew bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	instances = map[string]bool{}
	for _, n := range nodes {
		if n.leaves && n.instance != "" {
			instances[n.instance] = true
			isNew = isNew || !a.leaving[n.instance]
		}
	}
	a.leaving = instances
	return instances, isNew
}

// tell has the guards told, and reports whether one of them waits. A guard whose node is not known is told nothing.
func (a *Answerer) tell(nodes map[string]node, left map[string]string) (waits bool) {
	due, waits, asking := a.due(nodes, left, a.Clock.Now())
	for _, uid := range due {
		a.queue.Add(uid)
	}
	guardsWaiting.Set(float64(asking))
	return waits
}

// due are the guards to write to now. It reports whether there is one to look at again, and how many are being deleted and must wait.
func (a *Answerer) due(nodes map[string]node, left map[string]string, now time.Time) (due []types.UID, waits bool, asking int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for uid, g := range a.guards {
		n, known := nodes[g.pod.Spec.NodeName]
		if !known {
			continue
		}
		g.see(now)
		next := g.ask(question{deleted: g.pod.DeletionTimestamp != nil, leaves: n.leaves}, left[n.instance], now)
		unanswered, write := g.setNext(next, now)
		if write {
			due = append(due, uid)
		}
		mustWait := g.asks.isAsked() && next.Status != corev1.ConditionTrue
		waits = waits || unanswered || mustWait
		if mustWait && g.asks.deleted {
			asking++
		}
	}
	return due, waits, asking
}

// ask notes what the guard asks, and returns the answer.
func (g *guard) ask(q question, left string, now time.Time) readiness.Health {
	if g.asks != q {
		g.asks, g.since = q, now
	}
	return answer(q, now.Sub(g.since), left, g.said(now))
}

// said is what the pod says that the guard was told. What was written just now the cache may not show.
func (g *guard) said(now time.Time) readiness.Health {
	if now.Sub(g.answeredAt) < conditions.CacheLag && contest.IsBehind(g.pod.ResourceVersion, g.version) {
		return g.answered
	}
	return readiness.HealthOf(readiness.Condition(g.pod, readiness.MayLeave))
}

// see notes that somebody else has changed what the guard was told: it is told again, after a pause where that goes on.
func (g *guard) see(now time.Time) {
	isChanged := g.version != "" && g.said(now) != g.answered && g.lost != g.pod.ResourceVersion
	if !isChanged {
		return
	}
	contest.Count(contest.Guard)
	pause, _ := g.contest.Lost(now) // the process of the guard reads it; nobody needs an event
	g.lost, g.retryAt = g.pod.ResourceVersion, now.Add(pause)
}

// setNext makes the answer the next one. It reports whether the guard was not told it, and whether to write it now: after a pause since
// the last write, which may have failed.
func (g *guard) setNext(answer readiness.Health, now time.Time) (unanswered, due bool) {
	said := g.said(now)
	if answer == said || answer == (readiness.Health{}) {
		return false, false
	}
	pause := writes.RetryPause
	if said.Status == answer.Status && said.Reason == answer.Reason {
		pause = messagePause
	}
	if !g.queuedAt.IsZero() && now.Sub(g.queuedAt) < pause || now.Before(g.retryAt) {
		return true, false
	}
	g.next, g.queuedAt = answer, now
	return true, true
}

// write tells one guard, in a place of the queue.
func (a *Answerer) write(ctx context.Context, uid types.UID) {
	pod, next := a.next(uid)
	if pod == nil {
		return
	}
	timeout, cancel := context.WithTimeout(ctx, writes.Timeout)
	defer cancel()
	version, err := a.Pods.SetMayLeave(timeout, pod, next)
	retry.CountFailure(retry.Kubernetes, err)
	log := ctrl.LoggerFrom(ctx).WithValues("pod", klog.KObj(pod), "node", pod.Spec.NodeName)
	if err != nil {
		log.Error(err, "Failed to answer a node guard, will retry")
		return
	}
	a.noteAnswered(uid, next, version)
	log.Info("Answered a node guard", "mayLeave", next.Status, "reason", next.Reason)
}

// next is what to tell which guard, nil when it is gone.
func (a *Answerer) next(uid types.UID) (*corev1.Pod, readiness.Health) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g, there := a.guards[uid]
	if !there {
		return nil, readiness.Health{}
	}
	return g.pod, g.next
}

func (a *Answerer) noteAnswered(uid types.UID, answer readiness.Health, version string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if g, there := a.guards[uid]; there {
		g.answered, g.answeredAt, g.version = answer, a.Clock.Now(), version
		a.lookSoon() // the watch may have shown already what somebody else has made of it
	}
}
