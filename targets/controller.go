// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/consent"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Clients hands out the client that acts as a role; *accounts.Accounts does.
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
	Recorder events.EventRecorder
	Clock    clock.PassiveClock

	Policy Policy
	// Consent is what the cluster asks of bindings before anything is done for them.
	Consent consent.Policy
	// RoleChanges tells when Consent allows other roles; nil when it never does.
	RoleChanges <-chan struct{}
	// DriftInterval is the pause between readings of a group in which nobody waits, and how old facts about a group may be.
	DriftInterval time.Duration
	// LastResort lets in endpoints on nodes of unknown state when a binding has no others.
	LastResort bool

	// InjectsGates says that admission gives pods gates.
	InjectsGates bool
	// WebhookConfiguration is the name of the MutatingWebhookConfiguration that says which pods.
	WebhookConfiguration string

	// MaxConcurrentReconciles is how many bindings are looked at side by side. Passes do not wait for AWS, so this is
	// about the API server.
	MaxConcurrentReconciles int
	// MaxBackoff bounds the pause after a pass that failed at the API server.
	MaxBackoff time.Duration

	scope    atomic.Pointer[Scope] // nil before it was read
	resolver *endpoints.Resolver
	openings *line                      // of writes to pods that open gates,
	remarks  *line                      // of those that say what a gate waits for,
	statuses *line                      // and of those of bindings' statuses
	lanes    context.Context            //nolint:containedctx // the life of the calls that outlive a pass
	wake     func(types.NamespacedName) // has a binding looked at again

	orphans *orphans
	strays  *line // of writes to these

	mu      sync.Mutex
	groups  map[types.NamespacedName]*group
	subnets *subnets
}

// +kubebuilder:rbac:groups=elbv2.k8s.aws,resources=targetgroupbindings,verbs=list;watch;patch
// +kubebuilder:rbac:groups=elbv2.k8s.aws,resources=targetgroupbindings/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=namespaces;nodes;pods;services,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create

// Reconcile is one pass. It makes no AWS call itself: the group's lanes do.
func (r *Registrar) Reconcile(ctx context.Context, req ctrl.Request) (_ ctrl.Result, err error) {
	defer func() { countIfFailed(kubernetesFailure, err) }()
	var binding v1beta1.TargetGroupBinding
	if err := r.Client.Get(ctx, req.NamespacedName, &binding); err != nil {
		if apierrors.IsNotFound(err) {
			return r.orphaned(req.NamespacedName), nil
		}
		return ctrl.Result{}, fmt.Errorf("getting binding: %w", err)
	}
	s := r.session(&binding)
	if why := r.Consent.RoleRefusal(binding.Namespace, binding.Spec.IamRoleArnToAssume); why != "" {
		return r.forbid(s, &binding, why), nil
	}
	duplicates, err := r.duplicates(ctx, &binding)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !binding.DeletionTimestamp.IsZero() {
		return r.finalize(ctx, s, &binding, duplicates)
	}
	if why, successor := unmanageable(&binding, duplicates); why != "" {
		return r.refuse(s, &binding, why, successor), nil
	}
	if r.retire(duplicates) {
		return ctrl.Result{RequeueAfter: duplicatePause}, nil
	}
	return r.pass(ctx, s, &binding)
}

func (r *Registrar) pass(ctx context.Context, s session, binding *v1beta1.TargetGroupBinding) (ctrl.Result, error) {
	defer observeStage(stageReconcile, r.Clock)()
	if err := r.loadRecord(ctx, s, binding); err != nil {
		return ctrl.Result{}, err
	}
	gated := r.gatedPods(s.key)
	entries, complete := s.group.snapshot()
	res, err := r.resolver.ForPass().Resolve(ctx, binding, trackedTargets(entries))
	if err != nil {
		return ctrl.Result{}, err
	}
	mine, err := r.mine(ctx, s, binding, res.Endpoints, entries)
	if err != nil {
		return ctrl.Result{}, err
	}
	h := r.holdOf(s.group)
	p := makePlan(planInput{
		endpoints: res.Endpoints, entries: entries, complete: complete, gone: s.group.isGone(), nodes: !binding.Spec.IsIP(),
		mine: mine, withheld: h.comings, policy: r.Policy, valve: s.group.currentValve(), now: r.Clock.Now(),
	})
	p.generation = s.group.plannedFor(binding.Generation, complete, h)
	var next requeue
	next.in(p.nextChange)
	// Before anything that may take its time.
	next.in(r.startDeregistrations(s, p, r.worthGathering(s, readiness.GateFor(binding.Name), res, p, entries)))
	next.in(r.claim(s, binding, p))
	next.in(r.startRegistrations(s, binding, p))

	entries, complete = s.group.snapshot() // what was registered before our time has its owners now
	pods, told := r.report(ctx, s, binding, gated, res, p, entries)
	watched := awaited(res.Endpoints, entries, readiness.GateFor(binding.Name), p.handover, s.group.openedNow(r.Clock.Now()))
	next.in(r.observe(s, r.nextLook(s, watched, entries, complete)))
	maps.Copy(told, notices(binding, p, res.Odd, r.Policy))
	maps.Copy(told, delayNotice(binding, s.group.delayDenial()))
	r.tell(binding, s.group, told)
	if !s.group.addsFinalizer(binding) {
		next.in(r.writeStatus(s, binding, statusInput{
			generation: binding.Generation, missing: res.Missing, plan: p, policy: r.Policy, shortfall: shortfall(binding),
			complete: complete, entries: entries, pods: pods, skipped: res.Odd[endpoints.SkippedEndpoints], hold: h,
		}))
	}
	next.in(s.group.nextRelease(watched, r.Policy, r.Clock.Now()))
	next.in(r.inspect(s, watched))
	next.in(r.askConsent(s))
	return next.result(), nil
}

// Pauses, shortened by up to a fifth, after a write to the API server that failed, and after one that came too late: the
// cache has yet to show what it missed.
const (
	apiRetry      = 2 * time.Second
	conflictRetry = 200 * time.Millisecond
)

// requeue is how long it is until the next pass; 0 when nothing asks for one.
type requeue time.Duration

// in asks for a pass after that pause; 0 asks for none.
func (q *requeue) in(pause time.Duration) { *q = requeue(soonest(time.Duration(*q), pause)) }

func (q *requeue) result() ctrl.Result { return ctrl.Result{RequeueAfter: time.Duration(*q)} }

// session finds the memory of the binding's group. A binding that was deleted and created again, that names another
// group, or that had to leave its group to another binding, starts without one.
func (r *Registrar) session(binding *v1beta1.TargetGroupBinding) session {
	key := client.ObjectKeyFromObject(binding)
	if binding.DeletionTimestamp.IsZero() {
		r.orphans.forget(key)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.groups[key]
	if g == nil || g.uid != binding.UID || g.arn != binding.Spec.TargetGroupARN || !g.usable() {
		fresh := newGroup(binding, r.subnets, r.Clock.Now())
		fresh.recallWritten(g)
		r.groups[key], g = fresh, fresh
	}
	role := accounts.Role{
		ARN: binding.Spec.IamRoleArnToAssume, ExternalID: binding.Spec.AssumeRoleExternalId, Namespace: key.Namespace, Binding: key.Name,
	}
	return session{key: key, group: g, client: r.Clients.Client(role).For(key.Namespace)}
}
