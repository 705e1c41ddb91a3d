// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"fmt"
	"strconv"
)

// MinReadyPercentAnnotation on a binding, or on the Service behind it, overrides --min-ready-percent: a number from 0 to 100, 0 for a
// valve that is always open.
const MinReadyPercentAnnotation = "targetgate.dev/min-ready-percent"

// MinReadyPercent is what the annotation says, the binding's before that of its Service, which has these annotations. ok is false where
// neither has it, or what it says is wrong, and fault then says so.
func (b *TargetGroupBinding) MinReadyPercent(ofService map[string]string) (percent int, ok bool, fault string) {
	value, has := b.Annotations[MinReadyPercentAnnotation]
	where := "the TargetGroupBinding"
	if !has {
		value, has = ofService[MinReadyPercentAnnotation]
		where = fmt.Sprintf("Service %q", b.Spec.ServiceRef.Name)
	}
	if !has {
		return 0, false, ""
	}
	percent, err := strconv.Atoi(value)
	if err != nil || percent < 0 || percent > 100 {
		return 0, false, fmt.Sprintf("annotation %s of %s is %.30q: must be a number from 0 to 100; --min-ready-percent applies",
			MinReadyPercentAnnotation, where, value)
	}
	return percent, true, ""
}
