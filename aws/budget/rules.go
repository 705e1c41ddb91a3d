// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The services with rules, by the SDK's names, as used in --aws-api-endpoints and --aws-api-throttle.
const (
	EC2   = "EC2"
	ELBv2 = "Elastic Load Balancing v2"
	STS   = "STS"
)

// ownServices are those that are called with the program's own identity alone, or that AWS charges to it.
var ownServices = []string{EC2, STS}

// Rule is a token bucket for the operations it matches; the first rule that matches counts.
type Rule struct {
	Service    string // EC2, ELBv2 or STS; ELBv2 when empty
	Operations *regexp.Regexp
	Rate       float64 // tokens a second, more than 0
	Burst      int     // tokens that AWS's bucket holds, at least 1
}

func (r Rule) matches(service, operation string) bool {
	return cmp.Or(r.Service, ELBv2) == service && r.Operations.MatchString(operation)
}

// pattern names the rule: no two of a budget, nor of an account, have the same.
func (r Rule) pattern() string {
	if r.Service != "" {
		return r.Service + ":" + r.Operations.String()
	}
	return r.Operations.String()
}

// rulesOf are the rules for the service, DefaultRules' when there are none.
func rulesOf(service string, rules []Rule) []Rule {
	ofService := func(rules []Rule) (out []Rule) {
		for _, rule := range rules {
			if cmp.Or(rule.Service, ELBv2) == service {
				out = append(out, rule)
			}
		}
		return out
	}
	if out := ofService(rules); len(out) > 0 {
		return out
	}
	return ofService(DefaultRules())
}

// DefaultRules is half of what AWS grants an account for reading (50 a second, burst 200) and all of what it
// grants for registering and deregistering (4 a second, burst 20), which few others in an account use. Of the 600 calls a
// second of STS, which all workloads of the account share, it is few.
//
// Of EC2 it is half for rules of security groups, of which AWS counts additions and removals apart (5 a second each, burst 50), and for
// all descriptions together half of what AWS grants for those of one kind without filters (10 a second, burst 50).
func DefaultRules() []Rule {
	return []Rule{
		{Operations: regexp.MustCompile("^(Register|Deregister)Targets$"), Rate: 4, Burst: 20},
		{Operations: regexp.MustCompile("^Describe"), Rate: 25, Burst: 100},
		{Service: EC2, Operations: regexp.MustCompile("^AuthorizeSecurityGroupIngress$"), Rate: 2.5, Burst: 25},
		{Service: EC2, Operations: regexp.MustCompile("^RevokeSecurityGroupIngress$"), Rate: 2.5, Burst: 25},
		{Service: EC2, Operations: regexp.MustCompile("^Describe"), Rate: 5, Burst: 25},
		{Service: STS, Operations: regexp.MustCompile("."), Rate: 25, Burst: 100},
	}
}

// ParseRules reads ELBv2:operationRegex=rate:burst,... as --aws-api-throttle gives it. The services whose calls are
// rationed are "EC2", "Elastic Load Balancing v2" and "STS"; skipped are the parts for others. An empty string gives no rules.
func ParseRules(s string) (rules []Rule, skipped []string, err error) {
	for part := range strings.SplitSeq(s, ",") {
		if part == "" {
			continue
		}
		service, rest, ok := strings.Cut(part, ":")
		if ok && service != ELBv2 && !slices.Contains(ownServices, service) {
			skipped = append(skipped, part)
			continue
		}
		rule, err := parseRule(rest)
		if err != nil {
			return nil, nil, fmt.Errorf("%q: %w; want ELBv2:operationRegex=rate:burst", part, err)
		}
		if service != ELBv2 {
			rule.Service = service
		}
		rules = append(rules, rule)
	}
	return rules, skipped, nil
}

func parseRule(s string) (Rule, error) {
	at := strings.LastIndex(s, "=")
	if at < 0 {
		return Rule{}, fmt.Errorf("no = in %q", s)
	}
	operations, err := regexp.Compile(s[:at])
	if err != nil {
		return Rule{}, fmt.Errorf("operation pattern: %w", err)
	}
	rate, burst, err := parseRateBurst(s[at+1:])
	return Rule{Operations: operations, Rate: rate, Burst: burst}, err
}

func parseRateBurst(s string) (float64, int, error) {
	rateText, burstText, _ := strings.Cut(s, ":")
	rate, err := strconv.ParseFloat(rateText, 64)
	if err != nil || !(rate > 0 && rate <= 1e6) {
		return 0, 0, fmt.Errorf("rate %q is not a number above 0", rateText)
	}
	burst, err := strconv.Atoi(burstText)
	if err != nil || burst < 1 {
		return 0, 0, fmt.Errorf("burst %q is not a whole number above 0", burstText)
	}
	return rate, burst, nil
}
