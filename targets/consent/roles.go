// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package consent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxRolesSize bounds what ParseRoles takes: no ConfigMap is larger.
const MaxRolesSize = 1 << 20

// Roles says which IAM roles the bindings of a namespace may have assumed; nil lets them have any. It does not change, and is
// safe for concurrent use.
type Roles struct {
	named map[string][]string // patterns of roles by namespace,
	globs []globRule          // and by patterns of namespaces
}

type globRule struct {
	namespaces string
	roles      []string
}

// In patterns * stands for any characters but a colon, so that no part of an ARN runs into the next.
var (
	namespacePattern   = regexp.MustCompile(`^[a-z0-9*]([a-z0-9*-]{0,61}[a-z0-9*])?$`)
	rolePatternPattern = regexp.MustCompile(`^arn:[a-z*-]+:iam::([0-9]{12}|[0-9*]*\*[0-9*]*):role/[!-~]+$`)
)

// longestRolePattern is more than AWS allows for the path and the name of a role.
const longestRolePattern = 1024

// ParseRoles reads a YAML map of namespaces to lists of ARNs. In both * stands for any characters but a colon. A namespace that is
// not in it may use no role, and so may all when it is empty. The error names every fault, by its place and value, and what
// would be right.
func ParseRoles(content []byte) (*Roles, error) {
	if len(content) > MaxRolesSize {
		return nil, fmt.Errorf("%d bytes: must be %d at most", len(content), MaxRolesSize)
	}
	lists := map[string][]string{}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	if err := decoder.Decode(&lists); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("must be a map of namespaces to lists of role ARNs: %w", err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("must be one YAML document, and there is something after the first")
	}
	roles := &Roles{named: map[string][]string{}}
	var faults []error
	for _, namespace := range slices.Sorted(maps.Keys(lists)) {
		faults = append(faults, checkRoles(namespace, lists[namespace])...)
		if strings.Contains(namespace, "*") {
			roles.globs = append(roles.globs, globRule{namespace, lists[namespace]})
		} else {
			roles.named[namespace] = lists[namespace]
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults[:min(len(faults), mostFaults)]...)
	}
	return roles, nil
}

// mostFaults is how many are told at once.
const mostFaults = 20

func checkRoles(namespace string, patterns []string) (faults []error) {
	if !namespacePattern.MatchString(namespace) {
		faults = append(faults, fmt.Errorf("%.100q: must be the name of a namespace, in which * stands for any characters", namespace))
	}
	for i, pattern := range patterns {
		if len(pattern) > longestRolePattern || !rolePatternPattern.MatchString(pattern) {
			faults = append(faults, fmt.Errorf("%.100s[%d]: %.100q: must be a role's ARN, such as arn:aws:iam::123456789012:role/NAME, "+
				"in which * stands for any characters but a colon", namespace, i, pattern))
		}
	}
	return faults
}

// Refusal is why bindings of the namespace may not have the role assumed; empty when they may. No role at all, which is the
// program's own identity, always may be.
func (r *Roles) Refusal(namespace, role string) string {
	if r == nil || role == "" {
		return ""
	}
	patterns := r.of(namespace)
	if slices.ContainsFunc(patterns, func(pattern string) bool { return glob(pattern, role) }) {
		return ""
	}
	return fmt.Sprintf("role %s may not be assumed for bindings of namespace %s: --role-allowlist allows them %s",
		role, namespace, shown(patterns))
}

func (r *Roles) of(namespace string) []string {
	out := slices.Clip(r.named[namespace])
	for _, rule := range r.globs {
		if glob(rule.namespaces, namespace) {
			out = append(out, rule.roles...)
		}
	}
	return out
}

// mostShown is how many patterns a refusal names.
const mostShown = 5

func shown(patterns []string) string {
	switch {
	case len(patterns) == 0:
		return "none"
	case len(patterns) > mostShown:
		return fmt.Sprintf("only %s and %d more", strings.Join(patterns[:mostShown], ", "), len(patterns)-mostShown)
	default:
		return "only " + strings.Join(patterns, ", ")
	}
}

// glob reports whether the pattern stands for the text: each * for any characters but a colon. Its time grows with the product of the
// two lengths at most.
func glob(pattern, text string) bool {
	star, from := -1, 0 // the last * and where in the text what it stands for begins
	p, t := 0, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, t
			p++
		case p < len(pattern) && pattern[p] == text[t]:
			p++
			t++
		case star >= 0 && text[from] != ':':
			from++
			p, t = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
