// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// groupState is what a binding and AWS say of the target group as a whole.
type groupState struct{ *bindingState }

// link is about the target group as a whole: by the binding's status, and by AWS if it was asked. It tells of foreign targets whatever else
// it says.
func (s groupState) link() Link {
	l, recorded := s.byAll(), s.binding.Status.ForeignTargets
	_, why, targets := ownership.Foreign(recorded)
	if len(targets) == 0 || recorded.BindingUID != s.binding.UID {
		return l
	}
	l.Seen += fmt.Sprintf("; %d of its targets are not this cluster's and stay registered (ForeignTargets: %s)", len(targets), why)
	if l.Advice == "" {
		l = l.advise("If a binding in another cluster has the target group, too, delete one of the two, or set multiClusterTargetGroup: true in "+
			"both. If nobody needs the targets: %s", ownership.DeregisterCommand(s.binding.Spec.TargetGroupARN, targets))
	}
	return l
}

// byAll is the link but for foreign targets.
func (s groupState) byAll() Link {
	degraded := s.status(v1beta1.ConditionDegraded)
	advice := groupAdvice[degraded.Reason]
	if degraded.Reason == v1beta1.ReasonConsentMissing && s.status(v1beta1.ConditionReady).Reason != degraded.Reason {
		advice = "" // it is only warned of
	}
	arn := s.binding.Spec.TargetGroupARN
	name := cmp.Or(elbv2.GroupName(arn), arn)
	attached, known := s.attached()
	switch {
	case advice != "":
		return link("target group", Broken, "%s: %s", degraded.Reason, degraded.Message).advise("%s", advice)
	case s.reading != nil && elbv2.IsTargetGroupNotFound(s.reading.err):
		return link("target group", Broken, "%s", awserr.Message(s.reading.err)).advise("%s", groupAdvice[v1beta1.ReasonTargetGroupNotFound])
	case known && !attached:
		return link("target group", Broken, "%s is attached to no load balancer: no health check runs, and no traffic comes", name).
			advise("Have a listener or a rule of a load balancer forward to it")
	case s.reading.answered():
		return link("target group", OK, "%s has %s, according to AWS%s", name, s.reading.healthCount(), s.remark())
	case s.reading != nil:
		return s.unanswered(name)
	default:
		return s.byStatus(name)
	}
}

// unanswered is the link when AWS was asked and does not answer: what the status says is not lost for that.
func (s groupState) unanswered(name string) Link {
	l := s.byStatus(name)
	silence := "AWS does not answer you: " + awserr.Message(s.reading.err)
	if l.State == OK {
		l = link(l.Name, Unknown, "%s", silence)
	} else {
		l.Seen += "; " + silence
	}
	return l.advise("This is about your own credentials, not targetgate's; without --aws the binding's status is used")
}

// byStatus is the link by the binding's status alone, in which nothing is wrong with the group as a whole.
func (s groupState) byStatus(name string) Link {
	ready := s.status(v1beta1.ConditionReady)
	if ready.Reason == "" || ready.Reason == v1beta1.ReasonReading {
		return link("target group", Waiting, "%s has not been read by targetgate yet", name)
	}
	l := link("target group", OK, "%s has %s", name, statusCount(s.binding.Status))
	switch failing, starting := s.unreported(); {
	case failing > 0:
		l.State = Broken
		l.Seen += fmt.Sprintf("; %d are unhealthy or unused, and no pod's gate says why", failing)
		l = l.advise("Ask AWS which they are, and why: --aws")
	case starting > 0:
		l.State = Waiting
		l.Seen += fmt.Sprintf("; %d are in their first health checks", starting)
	}
	l.Seen += s.remark()
	return l
}

// unreported counts the targets that fail their health checks or get none, and those in their first ones, by the binding's status. Those
// of which the gates of pods tell are left out: the pods' own links name them. A gate that is open tells nothing.
func (s groupState) unreported() (failing, starting int) {
	counts := s.binding.Status.Targets
	if counts == nil {
		return 0, 0
	}
	if !s.binding.Spec.IsIP() && counts.Healthy > 0 { // by externalTrafficPolicy Local, nodes without pods fail
		return 0, 0
	}
	failing, starting = int(counts.Unhealthy+counts.Unused), int(counts.Initial)
	for i := range s.pods {
		if endpoints.IsTerminating(&s.pods[i]) { // what its gate tells may be long ago
			continue
		}
		switch told, state := toldBy(readiness.Condition(&s.pods[i], s.gate())); {
		case told && state == Broken:
			failing--
		case told && state == Waiting:
			starting--
		}
	}
	return failing, starting
}

// remark is what the status says beside the counts, empty when nothing is wrong or under way.
func (s groupState) remark() string {
	switch ready, degraded := s.status(v1beta1.ConditionReady), s.status(v1beta1.ConditionDegraded); {
	case degraded.Status == metav1.ConditionTrue:
		return "; " + degraded.Reason + ": " + degraded.Message
	case ready.Reason != "" && ready.Status != metav1.ConditionTrue:
		return "; " + ready.Reason + ": " + ready.Message
	default:
		return ""
	}
}

// rulesLink is about the inbound rules that spec.networking asks for.
func (s *bindingState) rulesLink() Link {
	c := s.status(v1beta1.ConditionNetworkingReady)
	switch c.Status {
	case metav1.ConditionTrue:
		return link("security groups", OK, "%s", c.Message)
	case metav1.ConditionFalse:
		return link("security groups", Broken, "%s: %s", c.Reason, c.Message).
			advise("Until that is corrected the load balancer may not reach the targets; targetgate tries again by itself")
	case metav1.ConditionUnknown:
		return link("security groups", Waiting, "%s", c.Message)
	default:
		return link("security groups", Unknown, "targetgate has not said whether the inbound rules of spec.networking are there").
			advise("It says so in the condition %s, unless it runs with --security-group-rules=false", v1beta1.ConditionNetworkingReady)
	}
}

// attached reports whether a load balancer sends to the group; known is false when that was not read.
func (s groupState) attached() (attached, known bool) {
	switch settings := s.binding.Status.TargetGroup; {
	case s.reading.answered():
		return s.reading.group.LoadBalancers > 0, true
	case settings != nil:
		return settings.LoadBalancers > 0, true
	default:
		return false, false
	}
}

func (r *reading) healthCount() string {
	healthy := 0
	for _, h := range r.health {
		if h.State == elbv2.StateHealthy {
			healthy++
		}
	}
	return fmt.Sprintf("%d healthy targets of %d", healthy, len(r.health))
}

func statusCount(status v1beta1.TargetGroupBindingStatus) string {
	if counts := status.Targets; counts != nil {
		return fmt.Sprintf("%d healthy targets of %d, according to the binding's status", counts.Healthy, counts.Registered)
	}
	return "no counts in the binding's status yet"
}

// status is the binding's condition of that type, the zero value when there is none.
func (s *bindingState) status(kind string) metav1.Condition { return conditionOf(s.binding, kind) }

func conditionOf(binding *v1beta1.TargetGroupBinding, kind string) metav1.Condition {
	if c := apimeta.FindStatusCondition(binding.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}
