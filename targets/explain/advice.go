// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// groupAdvice is by the reason of a condition that is AWS's doing, or the API server's.
var groupAdvice = map[string]string{
	v1beta1.ReasonAccessDenied: "Check the IAM role that makes the calls, the binding's if it names one, else targetgate's: it needs " +
		"DescribeTargetGroups, DescribeTargetGroupAttributes, DescribeTargetHealth, RegisterTargets and DeregisterTargets of " +
		"elasticloadbalancing. For the binding's role, targetgate's needs sts:AssumeRole, and that role's trust policy must name targetgate's",
	v1beta1.ReasonTargetGroupNotFound: "Does the target group exist, in targetgate's Region and account? " +
		"spec.targetGroupARN cannot be changed: create the binding again with the right one",
	v1beta1.ReasonKubernetesError: "Nothing is registered before this write succeeds: look at targetgate's RBAC, at the namespace's " +
		"quotas, and at webhooks that reject it",
	v1beta1.ReasonConsentMissing: "Have the target group's owner set the tag; targetgate reads it again within half a minute",
	v1beta1.ReasonConsentUnknown: "Look at targetgate's IAM role, or the binding's: it needs elasticloadbalancing:DescribeTags",
	v1beta1.ReasonTwoControllers: "Check that the chart's ValidatingAdmissionPolicy and ValidatingAdmissionPolicyBinding exist, and that " +
		"beside.incumbentUser is aws-load-balancer-controller's user; targetgate goes on a minute after that controller has stopped",
	v1beta1.ReasonTargetGroupFull: "Raise targetgate's --max-targets-per-target-group, or have fewer pods or nodes behind the binding",
	v1beta1.ReasonAWSError:        "targetgate tries again by itself; if the error persists, check its log and the AWS Health Dashboard",
}

// stateOf is how a target's health is for us.
func stateOf(state elbv2.State) State {
	switch state {
	case elbv2.StateHealthy:
		return OK
	case elbv2.StateInitial, elbv2.StateDraining:
		return Waiting
	case elbv2.StateUnavailable:
		return Unknown
	default:
		return Broken
	}
}

// stateOfReason is the same where only AWS's reason is known, from the condition of a gate that is not open.
func stateOfReason(reason string) State {
	switch reason {
	case elbv2.ReasonRegistrationInProgress, "Elb.InitialHealthChecking", "Target.DeregistrationInProgress":
		return Waiting
	case "Target.HealthCheckDisabled":
		return Unknown
	default:
		return Broken
	}
}

// healthAdvice is what to do about AWS's reason for a target's health.
func healthAdvice(reason, description string) string {
	switch reason {
	case "Target.ResponseCodeMismatch":
		return "The pod answers the health check with a code that the target group does not accept: compare the group's health check path, " +
			"port and success codes with what the pod answers there"
	case "Target.Timeout", "Target.FailedHealthChecks":
		return "The load balancer gets no valid answer: check that the pod listens on the health check's port, and that the security groups " +
			"of pod and node allow traffic from the load balancer"
	case elbv2.ReasonNotInUse:
		if strings.Contains(description, "Availability Zone") {
			return "Enable that Availability Zone for the load balancer, or keep the pods out of it (nodeAffinity, topology.kubernetes.io/zone)"
		}
		return "Have a listener or a rule of a load balancer forward to the target group"
	case "Target.IpUnusable":
		return "The address belongs to a load balancer: is it the pod's own?"
	case "Target.InvalidState":
		return "The instance is stopped or terminated"
	case "Elb.InternalError":
		return "AWS reports an internal error: check the AWS Health Dashboard"
	default:
		return ""
	}
}
