// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// statusInput is what one pass has seen of a binding.
type statusInput struct {
	generation  int64
	deleting    bool
	unsupported string // what the spec asks for that we do not do
	successor   bool   // that is only until another binding has let go of the group
	forbidden   string // what the spec asks for that the cluster does not allow
	hold        hold
	missing     string // the Service or port that does not exist
	plan        plan
	policy      Policy
	shortfall   string // what the binding asks for and does not get
	complete    bool   // the group has been read
	entries     map[elbv2.Target]entry
	skipped     string    // what EndpointSlices list that is not registered
	pods        *podCount // nil when pods are none of the binding's business
}

// maxMessage is what a condition's message is cut to.
const maxMessage = 1024

// passing is how long a change must last that comes and goes with every pod of a rollout, before it is written.
const passing = 5 * time.Second

// writeStatus has what the pass has seen written if it differs from what we wrote last, and says when to come back for what
// may pass. The comparison is with our own memory, as the cache may be behind it.
func (r *Registrar) writeStatus(s session, binding *v1beta1.TargetGroupBinding, v statusInput) time.Duration {
	lane := s.group.status
	written, busy := lane.look()
	old := cmp.Or(written, &binding.Status)
	status := old.DeepCopy()
	fillStatus(status, s.group, v, metav1.NewTime(r.Clock.Now()))
	setGauges(s.key, status, v.pods)
	if busy {
		return 0
	}
	wait, due := lane.begin(old, status, r.Clock.Now())
	if due {
		r.statuses.put(func() { r.sendStatus(s, binding, old, status) })
	}
	return wait
}

// sendStatus runs beside the passes: an API server that takes its time holds no gate up. Events follow the write.
func (r *Registrar) sendStatus(s session, binding *v1beta1.TargetGroupBinding, old, status *v1beta1.TargetGroupBindingStatus) {
	err := r.patchStatus(s.key, binding.UID, status)
	countIfFailed(kubernetesFailure, err)
	if err != nil {
		ctrl.LoggerFrom(r.lanes).Error(err, "Writing the status of a binding, will try again", "binding", klog.KObj(binding))
	}
	tell, again := s.group.status.end(old, status, r.Clock.Now(), err)
	for _, e := range tell {
		r.event(binding, e)
	}
	if again {
		r.wake(s.key)
	}
}

// patchStatus replaces the whole status, whatever is known of the one that is there, and that of no other binding than the
// one with the UID. A binding that is gone is no error.
func (r *Registrar) patchStatus(key types.NamespacedName, uid types.UID, status *v1beta1.TargetGroupBindingStatus) error {
	ctx, cancel := context.WithTimeout(r.lanes, patchTimeout)
	defer cancel()
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": uid},
		{"op": "add", "path": "/status", "value": status},
	})
	if err != nil {
		return fmt.Errorf("encoding status: %w", err)
	}
	answer := &v1beta1.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	err = r.Client.Status().Patch(ctx, answer, client.RawPatch(types.JSONPatchType, patch))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing status: %w", err)
	}
	return nil
}

// mayPass reports whether the statuses say the same but for their counts, and for calls under way where there were none.
func mayPass(before, after v1beta1.TargetGroupBindingStatus) bool {
	before.Targets, before.Pods = after.Targets, after.Pods
	after.Conditions = slices.Clone(after.Conditions)
	was := apimeta.FindStatusCondition(before.Conditions, v1beta1.ConditionReady)
	is := apimeta.FindStatusCondition(after.Conditions, v1beta1.ConditionReady)
	if was != nil && was.Status == metav1.ConditionTrue && is.Reason == v1beta1.ReasonReconciling {
		*is = *was
	}
	return equality.Semantic.DeepEqual(before, after)
}

func fillStatus(status *v1beta1.TargetGroupBindingStatus, g *group, v statusInput, now metav1.Time) {
	if acted := g.actedOn(v); acted > ptr.Deref(status.ObservedGeneration, 0) {
		status.ObservedGeneration = &acted
	}
	for _, condition := range []metav1.Condition{ready(g, v), degraded(g, v)} {
		if condition.Reason == v1beta1.ReasonReading && saidReady(status, v.generation) {
			continue // by an earlier process, and nothing says that it is not so any more
		}
		condition.ObservedGeneration = v.generation
		condition.Message = cut(condition.Message)
		condition.LastTransitionTime = now // kept by SetStatusCondition while the status stays
		apimeta.SetStatusCondition(&status.Conditions, condition)
	}
	if v.complete {
		status.Targets = countTargets(v.entries)
	}
	if v.pods != nil {
		status.Pods = &v1beta1.PodCounts{
			Gated: int32(v.pods.gated), Waiting: int32(v.pods.waiting), Ungated: int32(v.pods.ungated),
		}
	}
	status.TargetGroup, _ = g.currentFacts()
}

// actedOn is the newest generation of the spec that has been acted on: what it asked for was sent and AWS has taken it, or there
// was nothing to send, or it is refused. It is 0 when there is none; an earlier process may know of one.
func (g *group) actedOn(v statusInput) int64 {
	if v.unsupported != "" && !v.successor || v.forbidden != "" {
		return v.generation
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return min(g.registration.acted, g.deregistration.acted)
}

// plannedFor is the generation whose work a plan holds, 0 when it may not hold all of it: before the group and its consent were
// read, while readings fail, and while nothing can be claimed.
func (g *group) plannedFor(generation int64, complete bool, h hold) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !complete || h.comings && !h.final() || g.reading.lasting() != nil || g.claims.lasting() != nil {
		return 0
	}
	return generation
}

// saidReady reports whether the status calls that generation of the spec Ready.
func saidReady(status *v1beta1.TargetGroupBindingStatus, generation int64) bool {
	c := apimeta.FindStatusCondition(status.Conditions, v1beta1.ConditionReady)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == generation
}

func ready(g *group, v statusInput) metav1.Condition {
	c := metav1.Condition{Type: v1beta1.ConditionReady, Status: metav1.ConditionFalse}
	reason, message := trouble(g, v)
	switch {
	case reason != "":
		c.Reason, c.Message = reason, message
	case v.deleting:
		c.Reason, c.Message = v1beta1.ReasonDeleting, "Deregistering all targets"
	case !v.complete, v.hold.comings:
		c.Reason, c.Message = v1beta1.ReasonReading, "Reading the target group"
	case !v.plan.handover.IsZero():
		c.Reason = v1beta1.ReasonReconciling
		c.Message = fmt.Sprintf("Targets that are not asked for any more stay until all others are healthy, for %s at most",
			v.policy.ReplacementTimeout)
	case g.working():
		c.Reason, c.Message = v1beta1.ReasonReconciling, "Registering and deregistering targets"
	default:
		c.Status, c.Reason = metav1.ConditionTrue, v1beta1.ReasonReconciled
		c.Message = "Every endpoint that belongs in the target group is registered"
	}
	return c
}

// trouble is what keeps targets from being registered and deregistered; empty when nothing does.
func trouble(g *group, v statusInput) (reason, message string) {
	err := g.failure()
	switch {
	case v.unsupported != "":
		return v1beta1.ReasonNotSupported, v.unsupported
	case v.forbidden != "":
		return v1beta1.ReasonRoleNotAllowed, "AWS is not asked, and targets are left as they are: " + v.forbidden
	case err != nil:
		return awsReason(err), awserr.Message(err)
	case v.hold.comings && v.hold.reason != "":
		return v.hold.reason, v.hold.message
	case g.claimFailure() != nil:
		return v1beta1.ReasonKubernetesError, g.claimFailure().Error()
	case v.missing != "":
		return v1beta1.ReasonBackendNotFound, fmt.Sprintf("%s; registered targets are kept while their pods live, for %s at most",
			v.missing, v.policy.ReplacementTimeout)
	default:
		return troubleOfSome(g, v)
	}
}

func awsReason(err error) string {
	switch {
	case elbv2.IsTargetGroupNotFound(err):
		return v1beta1.ReasonTargetGroupNotFound
	case awserr.IsPermission(err):
		return v1beta1.ReasonAccessDenied
	default:
		return v1beta1.ReasonAWSError
	}
}

// troubleOfSome is what keeps single targets out.
func troubleOfSome(g *group, v statusInput) (reason, message string) {
	refused := g.refusals()
	switch {
	case len(refused) > 0:
		return v1beta1.ReasonTargetsRefused, strings.Join(refused, "; ")
	case len(v.plan.leftOut) > 0:
		return v1beta1.ReasonTargetGroupFull, groupFull(v.policy)
	case v.pods != nil && v.pods.unlisted != "":
		return v1beta1.ReasonNoEndpoint, v.pods.unlisted
	default:
		return "", ""
	}
}

func groupFull(policy Policy) string {
	return fmt.Sprintf("The target group holds as many targets as --max-targets-per-target-group=%d allows", policy.MaxTargets)
}

// degraded also tells of trouble that leaves the targets alone.
func degraded(g *group, v statusInput) metav1.Condition {
	c := metav1.Condition{Type: v1beta1.ConditionDegraded, Status: metav1.ConditionTrue}
	c.Reason, c.Message = trouble(g, v)
	err := g.inspectionFailure()
	switch {
	case c.Reason != "":
	case err != nil:
		c.Reason, c.Message = v1beta1.ReasonAWSError, awserr.Message(err)
	case v.plan.valve:
		c.Reason = v1beta1.ReasonUnreadyPodsKept
		c.Message = fmt.Sprintf("Fewer than %d %% of the pods are ready and healthy (--min-ready-percent): unready ones stay registered",
			v.policy.MinReadyPercent)
	case v.hold.reason != "":
		c.Reason, c.Message = v.hold.reason, v.hold.message
	case v.skipped != "":
		c.Reason, c.Message = v1beta1.ReasonEndpointSkipped, v.skipped
	case v.shortfall != "":
		c.Reason, c.Message = v1beta1.ReasonNotSupported, v.shortfall
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1beta1.ReasonHealthy, "Nothing is wrong"
	}
	return c
}

// cut bounds a message, between two characters.
func cut(message string) string {
	if len(message) > maxMessage {
		return strings.ToValidUTF8(message[:maxMessage-3], "") + "..."
	}
	return message
}
