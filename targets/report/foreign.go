// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"

	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// LeftForeign says which targets a binding that is gone has left in its target group, as they are not this cluster's.
func LeftForeign(arn string, targets []string) events.Event {
	return events.Normal(v1beta1.ConditionForeignTargets, "Cleanup",
		"The binding is deleted. Targets that are not this cluster's stay registered in %s: %s", arn, strings.Join(targets, ", "))
}
