// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import "strings"

// NotInUse reports whether no load balancer checks the target, as its group is attached to none. A zone that is not enabled has the same
// reason and is another matter: there the target gets no traffic.
func (h Health) NotInUse() bool {
	return h.Reason == ReasonNotInUse && !strings.Contains(h.Description, "Availability Zone")
}
