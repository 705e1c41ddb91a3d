// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"slices"
	"strings"
)

// Certificate is one that ACM is to issue.
type Certificate struct {
	Member  string   // name of the one that wants it
	Domains []string // sorted; the first is its name
	CA      string   // ARN of the private certificate authority; "" has Amazon issue it
	Tags    map[string]string
}

// Is reports whether the certificate is for these domains and of that authority.
func (c Certificate) Is(domains []string, ca string) bool {
	sorted := make([]string, 0, len(domains))
	for _, domain := range domains {
		sorted = append(sorted, strings.ToLower(domain))
	}
	slices.Sort(sorted)
	return c.CA == ca && slices.Equal(c.Domains, slices.Compact(sorted))
}
