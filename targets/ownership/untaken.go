// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Reasons why a binding is not to be Beside's.
const (
	// NoLabel is the one that nobody needs to be told of.
	NoLabel = "its namespace does not have the label " + RegisterLabel + "=" + Enabled
	// NoRecord depends on targetgate's permissions.
	NoRecord = "multiClusterTargetGroup needs access to ConfigMaps, which targetgate does not have. " +
		"Set sharedTargetGroups=true in the chart's values"
)

// NotTaken says why the binding should not be Beside's, empty when it should: its namespace has the label, the policy keeps the incumbent
// from it, something can be done for it, and the incumbent has no other binding of its target group. Registered reports whether a
// namespace has the label.
func NotTaken(
	binding *v1beta1.TargetGroupBinding, duplicates []v1beta1.TargetGroupBinding, registered func(namespace string) (bool, error),
) (string, error) {
	switch labelled, err := registered(binding.Namespace); {
	case err != nil:
		return "", err
	case !labelled:
		return NoLabel, nil
	}
	if why := LeftToIncumbent(binding); why != "" {
		return why, nil
	}
	for i := range duplicates {
		other := &duplicates[i]
		if Beside.Holds(other) {
			continue
		}
		labelled, err := registered(other.Namespace)
		if err != nil {
			return "", err
		}
		if why := LeftToIncumbent(other); !labelled || why != "" {
			return hasTheOther(other, labelled, why), nil
		}
	}
	return "", nil
}

// hasTheOther says that the incumbent has another binding of the target group, and what to do.
func hasTheOther(other *v1beta1.TargetGroupBinding, registered bool, why string) string {
	has := fmt.Sprintf("aws-load-balancer-controller has TargetGroupBinding %s/%s of the same target group", other.Namespace, other.Name)
	if registered {
		return has + ", which targetgate leaves to it: " + why
	}
	return has + fmt.Sprintf(". Label its namespace, too (kubectl label namespace %s %s=%s), or remove the label from this one",
		other.Namespace, RegisterLabel, Enabled)
}
