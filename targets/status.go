// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/conditions"
	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/networking"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// statusInput is all that a status is made from: what one pass has seen of a binding.
type statusInput struct {
	generation   int64
	group        targetgroup.Snapshot
	complete     bool  // the group had been read when the pass planned
	claimFailure error // why nothing can be registered, nil when it can
	deleting     bool
	unsupported  string // what the spec asks for that we do not do
	successor    bool   // that is only until another binding has let go of the group
	forbidden    string // what the spec asks for that the cluster does not allow
	rival        string // that another controller works on the binding
	promptly     bool   // whoever changes the spec waits for its generation to be seen, not for AWS
	hold         plan.Hold
	missing      string // the Service or port that does not exist
	plan         plan.Plan
	policy       plan.Policy
	shortfall    string               // what the binding asks for and does not get
	skipped      string               // what EndpointSlices list that is not registered
	pods         *conditions.PodCount // nil when pods are none of the binding's business
	unlisted     string               // why a pod that waits is no endpoint, empty when all are
	rules        networking.State     // how far the inbound rules are, the zero value when none are made
}

// fillStatus brings the status up to date.
func fillStatus(status *v1beta1.TargetGroupBindingStatus, v statusInput, now metav1.Time) {
	if acted := v.actedOn(); acted > max(0, ptr.Deref(status.ObservedGeneration, 0)) {
		status.ObservedGeneration = &acted
	}
	for _, condition := range []metav1.Condition{v.ready(), v.degraded()} {
		if condition.Reason == v1beta1.ReasonReading && saidReady(status, v.generation) {
			continue // by an earlier process, and nothing contradicts it
		}
		condition.ObservedGeneration = v.generation
		condition.Message = events.Cut(condition.Message)
		condition.LastTransitionTime = now // kept by SetStatusCondition while the status stays
		apimeta.SetStatusCondition(&status.Conditions, condition)
	}
	v.fillNetworking(status, now)
	if v.complete {
		status.Targets = conditions.CountTargets(v.group.Targets)
	}
	if v.pods != nil {
		status.Pods = &v1beta1.PodCounts{
			Gated: int32(v.pods.Gated), Waiting: int32(v.pods.Waiting), Ungated: int32(v.pods.Ungated),
		}
	}
	status.TargetGroup = v.group.Settings
}

// fillNetworking sets the condition NetworkingReady, which a binding has while inbound rules are made for it.
func (v statusInput) fillNetworking(status *v1beta1.TargetGroupBindingStatus, now metav1.Time) {
	if v.rules == (networking.State{}) {
		apimeta.RemoveStatusCondition(&status.Conditions, v1beta1.ConditionNetworkingReady)
		return
	}
	c := metav1.Condition{
		Type: v1beta1.ConditionNetworkingReady, Status: metav1.ConditionFalse, Reason: v.rules.Reason, Message: events.Cut(v.rules.Message),
		ObservedGeneration: v.generation, LastTransitionTime: now,
	}
	switch v.rules.Progress {
	case networking.Ready:
		c.Status = metav1.ConditionTrue
	case networking.Progressing:
		c.Status = metav1.ConditionUnknown
	}
	apimeta.SetStatusCondition(&status.Conditions, c)
}

// actedOn is the newest generation of the spec that has been acted on: what it asked for was sent and AWS has accepted it, or there
// was nothing to send, or it is refused. It is 0 when there is none; an earlier process may know of one.
func (v statusInput) actedOn() int64 {
	if v.unsupported != "" && !v.successor || v.forbidden != "" || v.promptly {
		return v.generation
	}
	return v.group.Acted
}

// saidReady reports whether the status calls that generation of the spec Ready.
func saidReady(status *v1beta1.TargetGroupBindingStatus, generation int64) bool {
	c := apimeta.FindStatusCondition(status.Conditions, v1beta1.ConditionReady)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == generation
}

func (v statusInput) ready() metav1.Condition {
	c := metav1.Condition{Type: v1beta1.ConditionReady, Status: metav1.ConditionFalse}
	reason, message := v.trouble()
	switch {
	case reason != "":
		c.Reason, c.Message = reason, message
	case v.deleting:
		c.Reason, c.Message = v1beta1.ReasonDeleting, "Deregistering all targets"
	case !v.complete, v.hold.Withheld:
		c.Reason, c.Message = v1beta1.ReasonReading, "Reading the target group"
	case !v.plan.ReplacedAt.IsZero():
		c.Reason = v1beta1.ReasonReconciling
		c.Message = fmt.Sprintf("Targets that are no longer wanted stay until all others are healthy, for %s at most",
			v.policy.ReplacementTimeout)
	case v.group.Working:
		c.Reason, c.Message = v1beta1.ReasonReconciling, "Registering and deregistering targets"
	default:
		c.Status, c.Reason = metav1.ConditionTrue, v1beta1.ReasonReconciled
		c.Message = "Every endpoint that belongs in the target group is registered"
	}
	return c
}

// trouble is what keeps targets from being registered and deregistered; empty when nothing does.
func (v statusInput) trouble() (reason, message string) {
	err := v.group.Failure()
	switch {
	case v.rival != "":
		return v1beta1.ReasonTwoControllers, v.rival
	case v.unsupported != "":
		return v1beta1.ReasonNotSupported, v.unsupported
	case v.forbidden != "":
		return v1beta1.ReasonRoleNotAllowed, "AWS is not asked, and targets are left as they are: " + v.forbidden
	case err != nil:
		return awsReason(err), awserr.Message(err)
	case v.hold.Withheld && v.hold.Reason != "":
		return v.hold.Reason, v.hold.Message
	case v.claimFailure != nil:
		return v1beta1.ReasonKubernetesError, v.claimFailure.Error()
	case v.missing != "":
		return v1beta1.ReasonBackendNotFound, fmt.Sprintf("%s; registered targets are kept while their pods live, for %s at most",
			v.missing, v.policy.ReplacementTimeout)
	default:
		return v.troubleOfSome()
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
func (v statusInput) troubleOfSome() (reason, message string) {
	refused := append(v.group.Deregistration.Words(), v.group.Registration.Words()...)
	switch {
	case len(refused) > 0:
		return v1beta1.ReasonTargetsRefused, strings.Join(refused, "; ")
	case len(v.plan.LeftOut) > 0:
		return v1beta1.ReasonTargetGroupFull, v.policy.GroupFull()
	case v.unlisted != "":
		return v1beta1.ReasonNoEndpoint, v.unlisted
	default:
		return "", ""
	}
}

// degraded also tells of trouble that leaves the targets alone.
func (v statusInput) degraded() metav1.Condition {
	c := metav1.Condition{Type: v1beta1.ConditionDegraded, Status: metav1.ConditionTrue}
	c.Reason, c.Message = v.trouble()
	err := v.group.SettingsFailure
	switch {
	case c.Reason != "":
	case err != nil:
		c.Reason, c.Message = v1beta1.ReasonAWSError, awserr.Message(err)
	case v.plan.Valve.Engaged:
		c.Reason = v1beta1.ReasonUnreadyPodsKept
		c.Message = fmt.Sprintf("Fewer than %d %% of the pods are ready and healthy (--min-ready-percent): unready ones stay registered",
			v.policy.MinReadyPercent)
	case v.hold.Reason != "":
		c.Reason, c.Message = v.hold.Reason, v.hold.Message
	case v.skipped != "":
		c.Reason, c.Message = v1beta1.ReasonEndpointSkipped, v.skipped
	case v.shortfall != "":
		c.Reason, c.Message = v1beta1.ReasonNotSupported, v.shortfall
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1beta1.ReasonHealthy, "Nothing is wrong"
	}
	return c
}
