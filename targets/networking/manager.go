// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/targets/networking/members"
	"github.com/targetgate/targetgate/targets/networking/ruleset"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Binding is what a pass of the registrar knows of a binding. It is not changed after it was handed over.
type Binding struct {
	Key        types.NamespacedName
	UID        types.UID
	Networking *v1beta1.TargetGroupBindingNetworking
	// Nodes says that the members are nodes (targetType instance).
	Nodes bool
	// Foreign says, of a listed binding, that another controller works on it: its rules stay, and no deletion waits for them.
	Foreign bool
	// Incomplete says that there may be more members: no rule that the spec can yield is removed.
	Incomplete bool
	Members    []members.Member
}

// Settings are those of a Manager. All but ExtraTags are required.
type Settings struct {
	ClusterName string
	// VPC finds the ID of the cluster's VPC, where Fargate and HyperPod pods are.
	VPC func(context.Context) (string, error)
	// ExtraTags must be on a security group, besides the cluster's, where an interface has several
	// (--service-target-eni-security-group-tags).
	ExtraTags map[string]string
	// Restricted merges ranges of ports as the incumbent's default does, where exact ones do not fit (see union).
	Restricted bool
	// RuleQuota is how many inbound rules a security group takes for each address family; AWS's default is 60.
	RuleQuota int
	// Partial says that List does not yield the bindings of all namespaces: then no rule is removed.
	Partial bool
	// DriftInterval is after which every security group with rules, and every member's, is read again: changes made by hand are
	// repaired within a little more.
	DriftInterval time.Duration
	// ReleaseTimeout bounds the wait for rules of a binding that is being deleted.
	ReleaseTimeout time.Duration
	Clock          clock.WithTicker

	EC2     EC2
	Records Records
	// List yields all bindings of the cluster whose spec.networking may need rules, without their members. What it yields and was never
	// wanted may wish for any rule of its spec. It is called in every pass and reads a cache.
	List func(context.Context) ([]Binding, error)
	// Wake is called when the State of a binding has changed, or Release may have another answer. It does not block.
	Wake func(types.NamespacedName)
}

const (
	// workers is how many bindings, and how many security groups, are worked on at a time.
	workers = 4
	// The pauses of a binding or a security group after failures.
	firstPause, maxPause = time.Second, retry.MaxBackoff
	// coalescePause is for which a security group waits for more changes: bindings change together, and it is read for each pass.
	coalescePause = 100 * time.Millisecond
)

// Manager makes the inbound rules that bindings ask for. Safe for concurrent use; only the leader starts one.
type Manager struct {
	Settings
	locator      *members.Locator
	bindingQueue workqueue.TypedRateLimitingInterface[types.NamespacedName]
	groupQueue   workqueue.TypedRateLimitingInterface[string]
	reaches      reaches

	mu sync.Mutex
	memory
}

// memory is what is known of all bindings and security groups. Manager.mu guards it.
type memory struct {
	loaded   bool   // the records were read
	noLoad   error  // why the records could not be read yet
	seq      uint64 // counts changes of wishes
	bindings map[types.NamespacedName]*bindingState
	groups   map[string]*groupState
}

// New returns a Manager that works from Start on.
func New(settings Settings) *Manager {
	limit := func() workqueue.TypedRateLimiter[types.NamespacedName] {
		return workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstPause, maxPause)
	}
	return &Manager{
		Settings: settings,
		locator: members.NewLocator(
			settings.EC2, settings.VPC, members.Choice{Cluster: settings.ClusterName, Tags: settings.ExtraTags}, settings.Clock),
		bindingQueue: workqueue.NewTypedRateLimitingQueueWithConfig(limit(),
			workqueue.TypedRateLimitingQueueConfig[types.NamespacedName]{Clock: settings.Clock}),
		groupQueue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstPause, maxPause),
			workqueue.TypedRateLimitingQueueConfig[string]{Clock: settings.Clock}),
		memory: memory{bindings: map[types.NamespacedName]*bindingState{}, groups: map[string]*groupState{}},
	}
}

// Start reads the records, and works until ctx ends.
func (m *Manager) Start(ctx context.Context) error {
	defer m.bindingQueue.ShutDown()
	defer m.groupQueue.ShutDown()
	if !m.load(ctx) {
		return nil
	}
	var running sync.WaitGroup
	running.Go(func() { m.recheck(ctx) })
	for range workers {
		running.Go(func() { work(ctx, m.bindingQueue, m.resolve) })
		running.Go(func() { work(ctx, m.groupQueue, m.pass) })
	}
	<-ctx.Done()
	m.bindingQueue.ShutDown()
	m.groupQueue.ShutDown()
	running.Wait()
	return nil
}

// load reads the records, for as long as it takes: without them nothing is known to be ours.
func (m *Manager) load(ctx context.Context) bool {
	for failures := 0; ; failures++ {
		stored, err := m.Records.Load(ctx)
		if err == nil {
			m.take(stored)
			return true
		}
		ctrl.LoggerFrom(ctx).Error(err, "Failed to read the records of security group rules, will retry")
		m.tellNoLoad(err)
		timer := m.Clock.NewTimer(retry.Jitter(retry.Backoff(firstPause, failures, maxPause)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C():
		}
	}
}

// tellNoLoad wakes the bindings, whose rules wait for the records.
func (m *Manager) tellNoLoad(err error) {
	m.mu.Lock()
	m.noLoad = err
	var wake []types.NamespacedName
	for key, binding := range m.bindings {
		if m.changed(binding) {
			wake = append(wake, key)
		}
	}
	m.mu.Unlock()
	for _, key := range wake {
		m.Wake(key)
	}
}

// take begins with the records. Bindings that are being deleted may have nothing to wait for.
func (m *Manager) take(stored map[string]Stored) {
	groups := map[string]*groupState{}
	for id, s := range stored {
		groups[id] = &groupState{Stored: s, flows: ruleset.FlowsOf(maps.Keys(s.Record))}
		m.groupQueue.Add(id)
	}
	m.mu.Lock()
	m.loaded, m.noLoad, m.groups = true, nil, groups
	var released []types.NamespacedName
	for key, binding := range m.bindings {
		if binding.released {
			released = append(released, key)
		}
	}
	m.mu.Unlock()
	for _, key := range released {
		m.Wake(key)
	}
}

// work handles the items of a queue until it is shut down. handle says when to come back, 0 for not by itself.
func work[T comparable](
	ctx context.Context, queue workqueue.TypedRateLimitingInterface[T], handle func(context.Context, T) (time.Duration, error),
) {
	for {
		item, down := queue.Get()
		if down {
			return
		}
		again, err := time.Duration(0), error(nil)
		if ctx.Err() == nil {
			again, err = handle(ctx, item)
		}
		switch {
		case ctx.Err() != nil:
		case err != nil:
			ctrl.LoggerFrom(ctx).V(1).Info("Security group rules are not as wanted yet, will retry", "item", fmt.Sprint(item), "reason", err.Error())
			queue.AddRateLimited(item)
		default:
			queue.Forget(item)
			if again > 0 {
				queue.AddAfter(item, again)
			}
		}
		queue.Done(item)
	}
}

// Want says what a binding asks for. The same again costs no call; it is made in every pass of the registrar. A binding without
// spec.networking asks for nothing.
func (m *Manager) Want(binding Binding) {
	last := m.wanted(binding.Key)
	if last != nil && reflect.DeepEqual(*last, binding) {
		return
	}
	reach := ruleset.ReachOf(binding.Networking)
	m.mu.Lock()
	defer m.mu.Unlock()
	state := m.bindings[binding.Key]
	if state != nil && state.want.UID == binding.UID && state.released {
		return
	}
	if state == nil {
		if binding.Networking == nil {
			return
		}
		state = &bindingState{}
		m.bindings[binding.Key] = state
	}
	state.want, state.reach = &binding, reach
	state.version++
	state.resolved, state.released = false, false
	m.bindingQueue.Add(binding.Key)
}

// wanted is what was last wanted of a binding, nil for nothing.
func (m *Manager) wanted(key types.NamespacedName) *Binding {
	m.mu.Lock()
	defer m.mu.Unlock()
	if state := m.bindings[key]; state != nil {
		return state.want
	}
	return nil
}

// Forget drops what is known of a binding that no longer exists.
func (m *Manager) Forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	state := m.bindings[key]
	if state == nil {
		return
	}
	delete(m.bindings, key)
	m.seq++
	m.wakeAbout(state, state.wishes)
	m.bindingQueue.Forget(key)
}

// State is what became of the binding's wishes: the zero State if there are none.
func (m *Manager) State(key types.NamespacedName) State {
	m.mu.Lock()
	defer m.mu.Unlock()
	if state := m.bindings[key]; state != nil {
		return m.stateOf(state)
	}
	return State{}
}
