// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/targetgate/targetgate/balancers/stack"
)

func inboundText(rules []stack.Inbound) string {
	texts := make([]string, len(rules))
	for i, rule := range rules {
		ports := strconv.Itoa(int(rule.From))
		if rule.To != rule.From {
			ports += "-" + strconv.Itoa(int(rule.To))
		}
		texts[i] = rule.Source + " to port " + ports
	}
	return strings.Join(texts, ", ")
}

func mapText(values map[string]string) string {
	texts := make([]string, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		texts = append(texts, key+"="+values[key])
	}
	return strings.Join(texts, ", ")
}

// groupText is the resource tag of a target group; of one that others have made its ARN.
func groupText(group stack.Ref) string {
	if group.Part != "" {
		return group.Part
	}
	return group.ID
}

// refText names a part so that it can be told from another that it replaces.
func refText(ref stack.Ref) string {
	switch {
	case ref.ID == "":
		return ref.Part
	case ref.Part == "":
		return ref.ID
	}
	return ref.Part + " (" + ref.ID + ")"
}

func balancerText(ref stack.Ref) string {
	if ref.ID == "" {
		return "the new load balancer"
	}
	return "load balancer " + ref.ID
}
