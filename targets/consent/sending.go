// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package consent

import (
	"fmt"
	"strings"
)

// Sender are the Ingresses of a namespace that send requests to a target group by its ARN or name. What its owner says of any binding of
// the namespace holds for them, too.
type Sender struct {
	Cluster, Namespace string
}

// Refusal is why the group's tags do not let the Ingresses send requests to it, and what would; empty when they do. The words do not show a
// tag's value, nor whether there is such a group.
func (s Sender) Refusal(tags map[string]string) string {
	b := Binder{Cluster: s.Cluster, Namespace: s.Namespace}
	if b.isMadeFor(tags) || b.isNamed(tags) {
		return ""
	}
	if strings.TrimSpace(tags[TagKey]) != "" {
		return fmt.Sprintf("the target group's tag %s does not name namespace %s of this cluster: its owner can add %s to it, after a space",
			TagKey, s.Namespace, b.entry())
	}
	return fmt.Sprintf("there is no consent for Ingresses of namespace %s: the target group's owner can give it with the tag %s=%s",
		s.Namespace, TagKey, b.entry())
}
