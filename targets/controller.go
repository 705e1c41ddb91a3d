// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Accounts hands out the client that acts as a role; *elbv2.Accounts does.
type Accounts interface {
	Client(elbv2.Role) *elbv2.Client
}

// Registrar reconciles TargetGroupBindings of type ip. Fill the fields and call SetupWithManager.
type Registrar struct {
	Client   client.Client
	Accounts Accounts
	Writer   *readiness.Writer
	Recorder events.EventRecorder
	Clock    clock.PassiveClock

	// MaxConcurrentReconciles is how many bindings are looked at side by side. Passes do not wait for AWS, so this is
	// about the API server.
	MaxConcurrentReconciles int
	// MaxBackoff bounds the pause after a pass that failed at the API server.
	MaxBackoff time.Duration

	resolver resolver
	lanes    context.Context            //nolint:containedctx // the life of the calls that outlive a pass
	wake     func(types.NamespacedName) // has a binding looked at again

	mu      sync.Mutex
	groups  map[types.NamespacedName]*group
	orphans map[types.NamespacedName]time.Time // bindings that do not exist, and from when on their gates are opened
}

// +kubebuilder:rbac:groups=elbv2.k8s.aws,resources=targetgroupbindings,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=elbv2.k8s.aws,resources=targetgroupbindings/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods;services,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch;update

// Reconcile is one pass. It makes no AWS call itself: the group's lanes do.
func (r *Registrar) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var binding v1beta1.TargetGroupBinding
	if err := r.Client.Get(ctx, req.NamespacedName, &binding); err != nil {
		if apierrors.IsNotFound(err) {
			return r.orphaned(ctx, req.NamespacedName)
		}
		return ctrl.Result{}, fmt.Errorf("getting binding: %w", err)
	}
	s := r.session(&binding)
	switch {
	case !binding.DeletionTimestamp.IsZero():
		return r.finalize(ctx, s, &binding)
	case !binding.IsIP() || s.group.arn == "":
		return ctrl.Result{}, r.refuse(ctx, s, &binding)
	default:
		return r.pass(ctx, s, &binding)
	}
}

func (r *Registrar) pass(ctx context.Context, s session, binding *v1beta1.TargetGroupBinding) (ctrl.Result, error) {
	if err := r.claim(ctx, binding); err != nil {
		return ctrl.Result{}, err
	}
	gate := readiness.GateFor(binding.Name)
	entries, complete := s.group.snapshot()
	res, err := r.resolver.resolve(ctx, binding, entries)
	if err != nil {
		return ctrl.Result{}, err
	}
	p := makePlan(res.endpoints, entries, complete, binding.Spec.MultiClusterTargetGroup)
	retryIn := r.apply(s, p)
	reportErr := r.report(ctx, s, gate, verdicts(res.endpoints, entries, gate, s.group.registrationError()))

	entries, complete = s.group.snapshot() // gates have been opened since
	readIn := r.observe(s, urgencyOf(awaited(res.endpoints, entries, gate), unsettled(entries)))
	statusErr := r.writeStatus(ctx, s, binding, view{
		generation: binding.Generation, missing: res.missing, complete: complete, entries: entries,
		pods: countPods(res.endpoints, gate),
	})
	return ctrl.Result{RequeueAfter: soonest(retryIn, soonest(readIn, r.inspect(s)))}, errors.Join(reportErr, statusErr)
}

// session finds the memory of the binding's group. A binding that was deleted and created again, or that names another
// group, starts without one.
func (r *Registrar) session(binding *v1beta1.TargetGroupBinding) session {
	key := client.ObjectKeyFromObject(binding)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.orphans, key)
	g := r.groups[key]
	if g == nil || g.uid != binding.UID || g.arn != binding.Spec.TargetGroupARN {
		g = newGroup(binding, r.Clock.Now())
		r.groups[key] = g
	}
	role := elbv2.Role{ARN: binding.Spec.IamRoleArnToAssume, ExternalID: binding.Spec.AssumeRoleExternalId}
	return session{key: key, group: g, client: r.Accounts.Client(role)}
}

// claim puts our finalizer on the binding before the first target is registered, and removes the incumbent's
// checkpoints. The lock is optimistic: lists of finalizers must not be overwritten.
func (r *Registrar) claim(ctx context.Context, binding *v1beta1.TargetGroupBinding) error {
	before := binding.DeepCopy()
	changed := controllerutil.AddFinalizer(binding, v1beta1.Finalizer)
	for _, annotation := range []string{v1beta1.CheckpointAnnotation, v1beta1.CheckpointTimestampAnnotation} {
		if _, ok := binding.Annotations[annotation]; ok {
			delete(binding.Annotations, annotation)
			changed = true
		}
	}
	if !changed {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, binding, patch); err != nil {
		r.event(binding, failedAddFinalizer(err))
		return fmt.Errorf("adding finalizer: %w", err)
	}
	return nil
}
