// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/frontend"
	"github.com/targetgate/targetgate/balancers/issue"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/parts"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/shared"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
	"github.com/targetgate/targetgate/balancers/tenants"
)

// Reconciler makes what is in AWS agree with Ingresses. A request is a group, by its name. Passes over one group come one after the other;
// those over others run beside them and wait for none of its errors. Namespaces take turns: a long pass leaves its rest to the next one
// when a group of another waits (turn), and no namespace has all workers.
type Reconciler struct {
	// Client reads from caches and writes to the API server.
	Client client.Client
	// Recorder takes notes of any length, and cuts them.
	Recorder events.EventRecorder
	Clock    clock.PassiveClock

	View    View
	Applier Applier
	// Lookup looks things up in AWS that belong to no stack.
	Lookup func(ctx context.Context, id stack.ID, needs lookup.Needs) (lookup.Answers, error)
	// MakePlan says by which steps what is seen becomes what is wanted, and which rules have no room.
	MakePlan func(wanted, seen stack.Stack) (steps.Plan, []plan.Overflow)
	// SecretChanges calls the function with each group whose Secrets change, until the context ends; nil for never.
	SecretChanges func(context.Context, func(stack.Group))
	// Issuer is nil when certificates are issued for nobody.
	Issuer Issuer
	// Stacks finds what former processes have left; nil when there may be Ingresses that are not seen.
	Stacks Stacks

	// Frontend says what the objects of one kind ask for.
	Frontend frontend.Frontend
	// Cluster is the name of the cluster, Limits are the quotas of the account.
	Cluster string
	Limits  parts.Limits
	// MaxConcurrentReconciles is how many groups of one tenant are worked on at once. One more of another can be.
	MaxConcurrentReconciles int
	// DriftInterval is how often a group is compared with AWS though nothing has changed in the cluster.
	DriftInterval time.Duration
	// Fresh is for how long what is known of AWS counts, at most DriftInterval: a pass after it has all read again. It is nil where Stacks
	// brings passes over all groups in each interval, which come behind all others.
	Fresh func() time.Duration
	// OrphanGrace is for how long a load balancer must have had no Ingress before it is deleted, 0 for never.
	OrphanGrace time.Duration
	// SettleTime is for how long a load balancer serves on when its name is in no status any longer.
	SettleTime time.Duration
	// ReplacementTimeout is for how long a load balancer keeps security groups because targets do not let in those that replace them.
	ReplacementTimeout time.Duration
	Shared             *shared.Collector // nil when there may be Ingresses that are not seen

	memories  memories
	endings   endings
	collector collector
	tenants   tenants.Tenants
	// othersWait reports whether a group of another tenant waits for a worker; nil for never.
	othersWait func(ctrl.Request) bool
}

// View is what is known to be in AWS.
type View interface {
	// Stack is what is seen of a stack, without its bindings. The caller may change it.
	Stack(ctx context.Context, id stack.ID) (stack.Stack, error)
	// Parts is Stack without listeners and attributes.
	Parts(ctx context.Context, id stack.ID) (stack.Stack, error)
	// Complete has Stack say from now on, of what is wanted, also what takes many calls or scarce ones. It is false when it did already.
	Complete(ctx context.Context, wanted stack.Stack) (bool, error)
}

// Issuer requests certificates.
type Issuer interface {
	Stacks
	// Keep sees to it that there are the wanted certificates, and no others that are not used.
	Keep(ctx context.Context, id stack.ID, wanted []stack.Certificate, used func(arn string) bool) issue.Kept
}

// Applier does steps.
type Applier interface {
	Run(ctx context.Context, pass apply.Pass) apply.Result
}

// Reconcile makes one pass over a group. Its error has the pass repeated with a growing pause; what waits for time alone is no error.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if !r.Shared.Enter() {
		return ctrl.Result{RequeueAfter: shared.Pause}, nil
	}
	defer r.Shared.Leave()
	p := r.newPass(stack.Group(req.NamespacedName))
	err := p.run(ctx)
	teller{p}.record()
	gauges{p}.measure(err == nil && !p.failing, r.Clock.Now())
	switch {
	case p.isEmpty() && p.again == 0 && err == nil && !p.mayVanish():
		r.memories.forget(p.group)
		r.tenants.Forget(req)
		r.Shared.Ended()
		return ctrl.Result{}, nil
	case err != nil && !p.result.Interrupted:
		return ctrl.Result{}, err
	case err != nil: // a growing pause would hold up what is left
		ctrl.LoggerFrom(ctx).Error(err, "A pass failed in part, continuing")
	}
	p.soon(r.untilOld())
	return ctrl.Result{RequeueAfter: p.again}, nil
}

func (r *Reconciler) newPass(group stack.Group) *pass {
	now := r.Clock.Now()
	return &pass{
		Reconciler: r, group: group, names: map[string]bool{}, unclaimed: map[types.UID]bool{}, lingering: map[string]error{},
		id:     r.idOf(group),
		memory: r.memories.of(group, now), since: now,
	}
}

func (r *Reconciler) words() frontend.Words { return r.Frontend.Words() }

func (r *Reconciler) idOf(group stack.Group) stack.ID {
	return stack.ID{Cluster: r.Cluster, Kind: r.Frontend.Kind(), Name: group.String()}
}

// pass is one pass over a group.
type pass struct {
	*Reconciler
	group        stack.Group
	id           stack.ID
	memory       *memory
	members      frontend.Members
	unclaimed    map[types.UID]bool // the active ones that could not get the finalizer
	vanished     bool               // an Ingress that was served is gone, without the group's finalizer
	lookups      lookups
	seen, wanted stack.Stack
	faults       []fault.Fault
	steps        steps.Plan
	overflow     []plan.Overflow
	names        map[string]bool // of the load balancers that were seen, in lower case
	result       apply.Result
	lingering    map[string]error // what cannot be removed, as something else uses it, by what is tried
	notices      []notice
	expiries     map[string]time.Time // of certificates, by ARN
	before       []string             // ARNs of the load balancers that were seen before the steps
	unknownACL   bool                 // it is not known which web ACL the load balancer has
	built        bool                 // the wanted stack could be built
	requested    bool                 // a user asks to delete what no Ingress asks for
	others       []string             // what has the group's tags and is not its own, in words
	begun        bool                 // it is left to the next pass to do the rest
	failing      bool                 // a member is told of a failure
	again        time.Duration
	since        time.Time // when the pass began
}

// run is the pass, step by step.
func (p *pass) run(ctx context.Context) (err error) {
	tell := teller{p}
	if err = p.load(ctx); err != nil {
		return err
	}
	p.tenants.Loaded(requestOf(p.group), p.namespaces())
	if fault := p.members.Stray.Fault; fault != nil && p.isEmpty() {
		tell.warn(p.members.Stray.Object, reasonBuild, buildFailed, fault.Error())
		return nil
	}
	errs := claims{p}.claim(ctx)
	p.hold()
	p.steps, err = p.propose(ctx)
	tell.tellFaults()
	tell.tellOverflow()
	if err != nil {
		return tell.tellEnd(errs, err)
	}
	if p.isOrphaned() {
		p.record(ctx)
		return errs
	}
	// Clients cannot use it yet: its name can be known before the rest is made.
	if shown := (statuses{p}).shown(); shown != nil && !shown.Active {
		errs = errors.Join(errs, statuses{p}.writeStatuses(ctx))
	}
	p.apply(ctx)
	p.goOn()
	if p.result.Interrupted { // what the rest waits for is not known
		return errors.Join(errs, tell.tellFailures())
	}
	tell.tellWait()
	tell.tellClosed()
	tell.tellInactive()
	errs = errors.Join(errs, tell.tellFailures())
	if err = (observer{p}).observe(ctx); err != nil {
		return tell.tellEnd(errs, err)
	}
	tell.tellRenamed()
	tell.tellOthers()
	errs = errors.Join(errs, p.keepCertificates(ctx))
	errs = errors.Join(errs, statuses{p}.writeStatuses(ctx))
	errs = errors.Join(errs, claims{p}.release(ctx))
	tell.tellSuccess(p.steps, errs)
	p.awaitLingering(ctx)
	return errs
}

// apply does the steps.
func (p *pass) apply(ctx context.Context) {
	now := p.Clock.Now()
	p.result = p.Applier.Run(ctx, apply.Pass{
		ID: p.id, Plan: p.begin(p.withoutContested(p.steps)), Unsettled: statuses{p}.unsettled,
		Kept: p.memory.kept(now), Late: p.memory.late(now),
		Closed: p.memory.closedFor(p.steps, now, p.ReplacementTimeout), MayLookAgain: p.memory.mayLookAgain(now), Interrupted: p.interrupted,
		Free: p.freeName,
	})
	p.lookups = lookups{}
	p.memory.noteDone(p.result, p.Clock.Now())
}

// A pass gives way when a group of another tenant waits for a worker: when it is as old as turn and has changed something, or is as old as
// longTurn and has not, as AWS refuses what it asks for. The rest is left to the next pass. AWS lets some 3 rules be made a second.
const (
	turn     = 2 * time.Second
	longTurn = 10 * time.Second
)

// interrupted reports whether the pass is to give way to another tenant.
func (p *pass) interrupted(changed bool) bool {
	age := p.Clock.Since(p.since)
	return p.othersWait != nil && (age >= longTurn || changed && age >= turn) && p.othersWait(requestOf(p.group))
}

// begin is the steps to do. A pass that makes the first load balancer of a group ends there: its name is all that statuses need, and all
// that clients can use until it is active.
func (p *pass) begin(planned steps.Plan) steps.Plan {
	i := slices.IndexFunc(planned, makesBalancer)
	if i < 0 || len(p.seen.LoadBalancers) > 0 {
		return planned
	}
	p.begun = true
	return planned[:i+1]
}

func makesBalancer(s steps.Step) bool {
	_, makes := s.Change.(steps.CreateLoadBalancer)
	return makes
}

// goOn has the next pass come when it may do more: at once when this one has ended with the first load balancer.
func (p *pass) goOn() {
	p.soon(p.result.Again)
	if p.begun && slices.ContainsFunc(p.result.Done, makesBalancer) {
		p.soon(time.Millisecond)
	}
}

// isEmpty reports whether no Ingress belongs to the group, or has its finalizer.
func (p *pass) isEmpty() bool {
	return len(p.members.Active)+len(p.members.Inactive)+len(p.members.Leaving) == 0
}

// soon has the next pass come within the pause, if it is one.
func (p *pass) soon(pause time.Duration) {
	if pause > 0 && (p.again == 0 || pause < p.again) {
		p.again = pause
	}
}
