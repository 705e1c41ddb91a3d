// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// foreignReasons are those of the condition ForeignTargets, the one that counts first in front, and what each says.
var foreignReasons = []struct{ reason, says string }{
	{v1beta1.ReasonOtherCluster, "The tags of the target group name another cluster"},
	{v1beta1.ReasonOtherNetwork, "They are in another network than this cluster"},
	{v1beta1.ReasonOtherOwner, "Somebody else registers targets in this target group, such as a binding in another cluster"},
	{v1beta1.ReasonRegisteredBefore, "They were registered before this binding was created"},
}

// Foreign says what the binding's status knows of foreign targets: why the first of the reasons holds, and all of them in order. Without
// any, the reason is empty.
func Foreign(recorded *v1beta1.ForeignTargets) (reason, why string, targets []string) {
	if recorded == nil {
		return "", "", nil
	}
	for _, known := range foreignReasons {
		if some := recorded.Targets[known.reason]; len(some) > 0 {
			targets = append(targets, some...)
			if reason == "" {
				reason, why = known.reason, known.says
			}
		}
	}
	slices.Sort(targets)
	return reason, why, targets
}

// mostNamed is how many foreign targets a message names: with the longest ARN and IPv6 addresses, it fits into an event.
const mostNamed = 4

// ForeignMessage says how many targets are foreign, what that means, and what to do.
func ForeignMessage(binding *v1beta1.TargetGroupBinding, why string, targets []string) string {
	are, they := "targets of the target group are", "them"
	if len(targets) == 1 {
		are, they = "target of the target group is", "it"
	}
	named := strings.Join(targets[:min(len(targets), mostNamed)], ", ")
	if more := len(targets) - mostNamed; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	how := DeregisterCommand(binding.Spec.TargetGroupARN, targets)
	if len(targets) > mostNamed {
		how = fmt.Sprintf("targetgate explain tgb %s -n %s prints the command", binding.Name, binding.Namespace)
	}
	return fmt.Sprintf("%d %s not this cluster's and stay registered: %s. Requests go to %s and to this cluster's pods. %s. "+
		"If a binding in another cluster has the target group, too, delete one of the two, or set multiClusterTargetGroup: true in both. "+
		"If nobody needs %s, deregister %s: %s", len(targets), are, named, they, why, they, they, how)
}

// DeregisterCommand is the command of the AWS CLI that deregisters the targets.
func DeregisterCommand(arn string, targets []string) string {
	var out strings.Builder
	out.WriteString("aws elbv2 deregister-targets")
	if parts := strings.SplitN(arn, ":", 5); len(parts) == 5 && parts[3] != "" {
		out.WriteString(" --region " + parts[3])
	}
	out.WriteString(" --target-group-arn " + arn + " --targets")
	for _, target := range targets {
		if id, port, err := net.SplitHostPort(target); err == nil {
			out.WriteString(" Id=" + id + ",Port=" + port)
		}
	}
	return out.String()
}
