// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package status

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
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Input is all that a status is made from: what one pass has seen of a binding.
type Input struct {
	Generation   int64
	Group        targetgroup.Snapshot
	Complete     bool  // the group had been read when the pass planned
	ClaimFailure error // why nothing can be registered, nil when it can
	Deleting     bool
	Unsupported  string // what the spec asks for that we do not do
	Successor    bool   // that is only until another binding has let go of the group
	Forbidden    string // what the spec asks for that the cluster does not allow
	Rival        string // that another controller works on the binding
	Promptly     bool   // whoever changes the spec waits for its generation to be seen, not for AWS
	Hold         plan.Hold
	Missing      string // the Service or port that does not exist
	Plan         plan.Plan
	Foreign      plan.Foreign // what is known of targets that nothing in the cluster explains
	Policy       plan.Policy
	Shortfall    string               // what the binding asks for and does not get
	Skipped      string               // what EndpointSlices list that is not registered
	Pods         *conditions.PodCount // nil when pods are none of the binding's business
	Unlisted     string               // why a pod that waits is no endpoint, empty when all are
	Rules        networking.State     // how far the inbound rules are, the zero value when none are made
}

// fillStatus brings the status up to date.
func fillStatus(status *v1beta1.TargetGroupBindingStatus, binding *v1beta1.TargetGroupBinding, in Input, now metav1.Time) {
	if ptr.Deref(status.ObservedGeneration, 0) > in.Generation {
		status.ObservedGeneration = nil // somebody else's, from before our start
	}
	if acted := in.actedOn(); acted > max(0, ptr.Deref(status.ObservedGeneration, 0)) {
		status.ObservedGeneration = &acted
	}
	for _, condition := range []metav1.Condition{in.ready(), in.degraded()} {
		if condition.Reason == v1beta1.ReasonReading && saidReady(status, in.Generation) {
			continue // by an earlier process, and nothing contradicts it
		}
		condition.ObservedGeneration = in.Generation
		condition.Message = events.Cut(condition.Message)
		condition.LastTransitionTime = now // kept by SetStatusCondition while the status stays
		apimeta.SetStatusCondition(&status.Conditions, condition)
	}
	in.fillNetworking(status, now)
	in.fillForeign(status, binding, now)
	in.fillKept(status, now)
	if in.Complete {
		status.Targets = conditions.CountTargets(in.Group.Targets)
	}
	if in.Pods != nil {
		status.Pods = &v1beta1.PodCounts{
			Gated: int32(in.Pods.Gated), Waiting: int32(in.Pods.Waiting), Ungated: int32(in.Pods.Ungated),
		}
	}
	status.TargetGroup = in.Group.Settings
}

// fillNetworking sets the condition NetworkingReady, which a binding has while inbound rules are made for it.
func (in Input) fillNetworking(status *v1beta1.TargetGroupBindingStatus, now metav1.Time) {
	if in.Rules == (networking.State{}) {
		apimeta.RemoveStatusCondition(&status.Conditions, v1beta1.ConditionNetworkingReady)
		return
	}
	c := metav1.Condition{
		Type: v1beta1.ConditionNetworkingReady, Status: metav1.ConditionFalse, Reason: in.Rules.Reason, Message: events.Cut(in.Rules.Message),
		ObservedGeneration: in.Generation, LastTransitionTime: now,
	}
	switch in.Rules.Progress {
	case networking.Ready:
		c.Status = metav1.ConditionTrue
	case networking.Progressing:
		c.Status = metav1.ConditionUnknown
	}
	apimeta.SetStatusCondition(&status.Conditions, c)
}

// fillForeign sets what is known of foreign targets, and the condition ForeignTargets, which a binding has while there are some.
func (in Input) fillForeign(status *v1beta1.TargetGroupBindingStatus, binding *v1beta1.TargetGroupBinding, now metav1.Time) {
	if found := in.Foreign.Record(binding.UID); found != nil {
		status.ForeignTargets = found
	}
	reason, why, targets := ownership.Foreign(status.ForeignTargets)
	if reason == "" || status.ForeignTargets.BindingUID != binding.UID {
		apimeta.RemoveStatusCondition(&status.Conditions, v1beta1.ConditionForeignTargets)
		return
	}
	apimeta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: v1beta1.ConditionForeignTargets, Status: metav1.ConditionTrue, Reason: reason, ObservedGeneration: in.Generation,
		Message: events.Cut(ownership.ForeignMessage(binding, why, targets)), LastTransitionTime: now,
	})
}

// fillKept sets the condition TargetsKept, which a binding has while pods that get no traffic by Kubernetes' word stay targets.
func (in Input) fillKept(status *v1beta1.TargetGroupBindingStatus, now metav1.Time) {
	reason, message := in.Plan.WhyKept()
	if reason == "" {
		apimeta.RemoveStatusCondition(&status.Conditions, v1beta1.ConditionTargetsKept)
		return
	}
	apimeta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: v1beta1.ConditionTargetsKept, Status: metav1.ConditionTrue, Reason: reason, Message: events.Cut(message),
		ObservedGeneration: in.Generation, LastTransitionTime: now,
	})
}

// actedOn is the newest generation of the spec that has been acted on: what it asked for was sent and AWS has accepted it, or there
// was nothing to send, or it is refused. It is 0 when there is none; an earlier process may know of one.
func (in Input) actedOn() int64 {
	if in.Unsupported != "" && !in.Successor || in.Forbidden != "" || in.Promptly {
		return in.Generation
	}
	return in.Group.Acted
}

// saidReady reports whether the status calls that generation of the spec Ready.
func saidReady(status *v1beta1.TargetGroupBindingStatus, generation int64) bool {
	c := apimeta.FindStatusCondition(status.Conditions, v1beta1.ConditionReady)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == generation
}

func (in Input) ready() metav1.Condition {
	c := metav1.Condition{Type: v1beta1.ConditionReady, Status: metav1.ConditionFalse}
	reason, message := in.trouble()
	switch {
	case reason != "":
		c.Reason, c.Message = reason, message
	case in.Deleting:
		c.Reason, c.Message = v1beta1.ReasonDeleting, "Deregistering all targets"
	case !in.Complete, in.Hold.Withheld:
		c.Reason, c.Message = v1beta1.ReasonReading, "Reading the target group"
	case !in.Plan.ReplacedAt.IsZero():
		c.Reason = v1beta1.ReasonReconciling
		c.Message = fmt.Sprintf("Targets that are no longer wanted stay until their replacements are healthy, for %s at most; targets of "+
			"nodes that are to be replaced stay until as many others are healthy", in.Policy.ReplacementTimeout)
	case in.Group.Working:
		c.Reason, c.Message = v1beta1.ReasonReconciling, "Registering and deregistering targets"
	default:
		c.Status, c.Reason = metav1.ConditionTrue, v1beta1.ReasonReconciled
		c.Message = "Every endpoint that belongs in the target group is registered"
		if n := in.Plan.NodesStay; n > 0 {
			c.Message += fmt.Sprintf("; the targets of %d nodes that are to be replaced stay until as many others are healthy", n)
		}
	}
	return c
}

// trouble is what keeps targets from being registered and deregistered; empty when nothing does.
func (in Input) trouble() (reason, message string) {
	err := in.Group.Failure()
	switch {
	case in.Rival != "":
		return v1beta1.ReasonTwoControllers, in.Rival
	case in.Unsupported != "":
		return v1beta1.ReasonNotSupported, in.Unsupported
	case in.Forbidden != "":
		return v1beta1.ReasonRoleNotAllowed, "targetgate makes no AWS call for this binding, and its targets stay as they are: " + in.Forbidden
	case err != nil:
		return awsReason(err), awserr.Message(err)
	case in.Hold.Withheld && in.Hold.Reason != "":
		return in.Hold.Reason, in.Hold.Message
	case in.ClaimFailure != nil:
		return v1beta1.ReasonKubernetesError, in.ClaimFailure.Error()
	case in.Missing != "":
		return v1beta1.ReasonBackendNotFound, fmt.Sprintf("%s; registered targets are kept while their pods live, for %s at most",
			in.Missing, in.Policy.ReplacementTimeout)
	default:
		return in.troubleOfSome()
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
func (in Input) troubleOfSome() (reason, message string) {
	refused := append(in.Group.Deregistration.Words(), in.Group.Registration.Words()...)
	switch {
	case len(refused) > 0:
		return v1beta1.ReasonTargetsRefused, strings.Join(refused, "; ")
	case len(in.Plan.LeftOut) > 0:
		return v1beta1.ReasonTargetGroupFull, in.Policy.GroupFull()
	case in.Unlisted != "":
		return v1beta1.ReasonNoEndpoint, in.Unlisted
	default:
		return "", ""
	}
}

// degraded also tells of trouble that leaves the targets alone.
func (in Input) degraded() metav1.Condition {
	c := metav1.Condition{Type: v1beta1.ConditionDegraded, Status: metav1.ConditionTrue}
	c.Reason, c.Message = in.trouble()
	err := in.Group.SettingsFailure
	switch {
	case c.Reason != "":
	case err != nil:
		c.Reason, c.Message = awsReason(err), awserr.Message(err)
	case in.Plan.UnreadyKept.Now:
		c.Reason = v1beta1.ReasonUnreadyPodsKept
		c.Message = fmt.Sprintf("Unready pods or nodes stay registered, as of the targets that served together less than %d %% serve "+
			"(min-ready-percent), or as the only healthy nodes are unready", in.Policy.MinReadyPercent)
	case in.Hold.Reason != "":
		c.Reason, c.Message = in.Hold.Reason, in.Hold.Message
	case in.Skipped != "":
		c.Reason, c.Message = v1beta1.ReasonEndpointSkipped, in.Skipped
	case in.Shortfall != "":
		c.Reason, c.Message = v1beta1.ReasonNotSupported, in.Shortfall
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1beta1.ReasonHealthy, "Nothing is wrong"
		if in.Foreign.Count() > 0 {
			c.Message = "Nothing keeps targetgate from its work; the condition ForeignTargets tells of targets that are not this cluster's"
		}
	}
	return c
}

// Shortfall is what the binding asks for that it does not get, though it is worked for.
func Shortfall(binding *v1beta1.TargetGroupBinding, makesRules bool) string {
	switch protocol := binding.GroupProtocol(); {
	case protocol.HasServerIDs():
		return fmt.Sprintf("targets of a target group of protocol %s need QUIC server IDs, which are not supported: AWS refuses to register them",
			protocol)
	case binding.Spec.IsIP() && len(binding.Name) > v1beta1.MaxBindingName:
		return fmt.Sprintf("metadata.name has more than %d characters, so pods get no readiness gate: "+
			"create the binding again with a shorter name", v1beta1.MaxBindingName)
	case binding.Spec.Networking != nil && !makesRules:
		return "spec.networking: no security group is changed, as targetgate runs with --security-group-rules=false"
	default:
		return ""
	}
}
