// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/beside"
	"github.com/targetgate/targetgate/targets/claims"
	"github.com/targetgate/targetgate/targets/conditions"
	"github.com/targetgate/targetgate/targets/consent"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/guards"
	"github.com/targetgate/targetgate/targets/networking"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/report"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/scope"
	"github.com/targetgate/targetgate/targets/status"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Clients hands out the client that acts as a role; *elbv2.Clients does.
type Clients interface {
	Client(accounts.Role) *elbv2.Client
}

// Registrar reconciles TargetGroupBindings. Fill the fields and call SetupWithManager.
type Registrar struct {
	Client client.Client
	// Uncached reads from the API server itself what is read too rarely to be kept in a cache.
	Uncached client.Reader
	Clients  Clients
	Writer   *readiness.Writer
	Recorder clientevents.EventRecorder
	Clock    clock.PassiveClock

	// Mode says whether the incumbent works on other bindings of the cluster.
	Mode ownership.Mode
	// OpenIncumbentGates has gates of pods that the incumbent registers opened early, in protected namespaces.
	OpenIncumbentGates bool
	Policy             plan.Policy
	// Consent is what the cluster asks of bindings before anything is done for them.
	Consent consent.Policy
	// RoleChanges tells when Consent allows other roles; nil when it never does.
	RoleChanges <-chan struct{}
	// VPC is the ID of the cluster's own VPC, empty where it is not known without a call.
	VPC string
	// DriftInterval is the pause between readings of a group for which no pod waits, and how old settings and tags of a group may be.
	DriftInterval time.Duration
	// LoadBalancerGates are prefixes of readiness gates that other load balancers open: pods do not wait for them to be registered.
	LoadBalancerGates []string
	// LastResort lets in endpoints on nodes of unknown state when a binding has no others.
	LastResort bool

	// Networking is how the inbound rules of spec.networking are made, without List and Wake; nil makes none.
	Networking *networking.Settings

	// Namespace is targetgate's own, where node guards are. Empty, there are none.
	Namespace string

	// InjectsGates says that admission gives pods gates.
	InjectsGates bool
	// WebhookConfiguration is the name of the MutatingWebhookConfiguration that says which pods.
	WebhookConfiguration string

	// MaxConcurrentReconciles is how many passes run at once. Passes do not wait for AWS, so this is
	// about the API server.
	MaxConcurrentReconciles int
	// MaxBackoff bounds the pause after a pass that failed at the API server.
	MaxBackoff time.Duration

	resolver *endpoints.Resolver
	others   others
	foreign  strangers
	scope    *scope.Follower
	reporter report.Reporter
	gates    *conditions.Writer
	orphans  *conditions.Orphans
	claims   *claims.Writer
	statuses *status.Writer
	calls    targetgroup.Env
	rules    inboundRules
	requeue  func(types.NamespacedName, time.Duration) // set by start
	bindings *memories
	beside   *beside.Taker
	guards   *guards.Answerer
}

// passState is one pass over a binding: what is remembered of it, and the means to change its group.
type passState struct {
	*memory
	key      types.NamespacedName
	calls    *targetgroup.Calls
	vanished *vanished // nil for a binding that is there
}

// +kubebuilder:rbac:groups=elbv2.k8s.aws,resources=targetgroupbindings,verbs=list;watch;patch
// +kubebuilder:rbac:groups=elbv2.k8s.aws,resources=targetgroupbindings/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=namespaces;nodes;pods;services,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create

// prepare makes the parts that work for the registrar. They do nothing before start.
func (r *Registrar) prepare(cache *endpoints.Cache) {
	r.bindings = newMemories(r.Mode, r.Clock)
	r.resolver = endpoints.NewResolver(r.Client, cache, r.LastResort)
	r.resolver.LoadBalancerGates = r.LoadBalancerGates
	r.others = others{r.Client, r.resolver}
	r.foreign = strangers{r.resolver, r.bindings, r.VPC}
	r.scope = &scope.Follower{
		Namespaces: r.Client, Uncached: r.Uncached, Configuration: r.WebhookConfiguration, Injects: r.InjectsGates,
	}
	r.reporter = report.Reporter{Recorder: r.Recorder, Clock: r.Clock}
	r.calls = targetgroup.Env{Clock: r.Clock, DriftInterval: r.DriftInterval, Consent: r.Consent}
	r.orphans = conditions.NewOrphans(r.Writer, r.Recorder)
	r.claims = claims.NewWriter(r.Client, r.Uncached, r.Clock, r.reporter)
	r.statuses = status.NewWriter(r.Client, r.Clock, r.reporter)
	r.gates = conditions.NewWriter(r.Writer, r.Recorder, r.Clock, report.ObserveReady)
	r.beside = newTaker(r)
	r.guards = newAnswerer(r)
	r.rules = newInboundRules(r.Networking, r.Mode, r.Client, func(key types.NamespacedName) { r.requeue(key, 0) })
}

// start has the parts work until ctx ends: requeue starts another pass over a binding after a pause.
func (r *Registrar) start(ctx context.Context, requeue func(types.NamespacedName, time.Duration)) {
	now := func(key types.NamespacedName) { requeue(key, 0) }
	r.calls.Context, r.calls.Requeue, r.requeue = ctx, now, requeue
	r.rules.start(ctx)
	r.gates.Start(ctx, requeue)
	r.orphans.Start(ctx)
	r.claims.Start(ctx, now)
	r.statuses.Start(ctx, requeue)
	r.guards.Start(ctx)
}

// Reconcile is one pass. It makes no AWS call itself: calls are made beside it.
func (r *Registrar) Reconcile(ctx context.Context, req ctrl.Request) (_ ctrl.Result, err error) {
	defer func() { retry.CountFailure(retry.Kubernetes, err) }()
	binding := &v1beta1.TargetGroupBinding{}
	err = r.Client.Get(ctx, req.NamespacedName, binding)
	switch {
	case apierrors.IsNotFound(err):
		binding = nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("getting binding: %w", err)
	}
	again, waits, failure := r.cleanUp(ctx, req.NamespacedName, binding)
	var result ctrl.Result
	switch {
	case binding == nil:
		result, err = r.absent(ctx, req.NamespacedName)
	case !waits:
		result, err = r.present(ctx, binding)
	}
	result.RequeueAfter = retry.Soonest(result.RequeueAfter, again)
	return result, errors.Join(err, failure)
}

// present is a pass over a binding that exists.
func (r *Registrar) present(ctx context.Context, binding *v1beta1.TargetGroupBinding) (ctrl.Result, error) {
	duplicates, err := ownership.Duplicates(ctx, r.Client, binding)
	if err != nil {
		return ctrl.Result{}, err
	}
	if result, done, err := r.beside.StandAside(ctx, binding, duplicates); done || err != nil {
		return result, err
	}
	s := r.passState(binding)
	if why := r.Consent.RoleRefusal(binding.Namespace, binding.Spec.IamRoleArnToAssume); why != "" {
		return r.forbid(s, binding, why), nil
	}
	if !binding.DeletionTimestamp.IsZero() {
		return r.finalize(ctx, s, binding, duplicates)
	}
	if why, successor := ownership.Unmanageable(binding, duplicates); why != "" {
		return r.refuse(s, binding, why, successor), nil
	}
	if r.bindings.retire(duplicates) {
		return ctrl.Result{RequeueAfter: duplicatePause}, nil
	}
	return r.pass(ctx, s, binding)
}

// passState finds what is remembered of the binding. One that was deleted and created again, that names another group, or that had to
// leave its group to another binding, starts anew.
func (r *Registrar) passState(binding *v1beta1.TargetGroupBinding) passState {
	key := client.ObjectKeyFromObject(binding)
	if binding.DeletionTimestamp.IsZero() {
		r.orphans.Forget(key)
	}
	r.beside.Early.Forget(key)
	m := r.bindings.of(key, binding)
	return passState{memory: m, key: key, calls: r.callsOf(binding, m.group)}
}

// callsOf are the calls of the binding's group, with the binding's role.
func (r *Registrar) callsOf(binding *v1beta1.TargetGroupBinding, group *targetgroup.Group) *targetgroup.Calls {
	aws := r.Clients.Client(accounts.RoleOf(binding)).For(binding.Namespace)
	return &targetgroup.Calls{Env: &r.calls, Group: group, Binding: client.ObjectKeyFromObject(binding), Client: aws}
}

// gatedPods are the pods that carry the gate of the binding; read only.
func (r *Registrar) gatedPods(key types.NamespacedName) []*corev1.Pod {
	return r.resolver.PodByGate.At(key.Namespace, key.Name)
}

// gated is gatedPods, before a pass that writes to them.
func (r *Registrar) gated(s passState) []*corev1.Pod {
	pods := r.gatedPods(s.key)
	r.gates.See(s.gates, pods)
	return pods
}

// orphaned opens the gates of a binding that does not exist, beside the pass.
func (r *Registrar) orphaned(key types.NamespacedName) ctrl.Result {
	r.forget(key)
	due, wait := r.orphans.Due(key, r.gatedPods(key), r.Clock.Now())
	r.orphans.Open(key, due, debounceInterval) // with their other gates, which are due at the same time
	return ctrl.Result{RequeueAfter: wait}
}
