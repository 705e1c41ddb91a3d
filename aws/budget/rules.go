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
	ACM        = "ACM"
	EC2        = "EC2"
	ELBv2      = "Elastic Load Balancing v2"
	Route53    = "Route 53"
	Shield     = "Shield"
	STS        = "STS"
	WAFClassic = "WAF Regional"
	WAFv2      = "WAFV2"
)

// ownServices are those that are called with the program's own identity alone, or that AWS charges to it.
var ownServices = []string{ACM, EC2, Route53, Shield, STS, WAFClassic, WAFv2}

// Rule is a token bucket for the operations it matches; the first rule that matches counts.
type Rule struct {
	Service    string // one of the constants above; ELBv2 when empty
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
//
// What makes and changes load balancers has all of what AWS grants for changes of settings (3 a second, burst 20), as few others make
// them; AWS publishes no figure for creations and deletions, of which the same is assumed. Security groups and their tags have half of
// what AWS grants for changes (5 a second, burst 50), ACM half of its quotas (10 a second for descriptions and tags, 1 for lists, 5
// for requests, of which there were no bursts), and WAF and WAF Classic the incumbent's own limits. Of Shield, which publishes none, it is
// few, and so it is of the 5 calls a second of Route 53, which all of the account share.
func DefaultRules() []Rule {
	return []Rule{
		{Operations: regexp.MustCompile("^(Register|Deregister)Targets$"), Rate: 4, Burst: 20},
		{Operations: regexp.MustCompile("^Describe"), Rate: 25, Burst: 100},
		{Operations: regexp.MustCompile("^Modify"), Rate: 3, Burst: 20},
		{Operations: regexp.MustCompile("^(Create|Delete|Set|Add|Remove)"), Rate: 3, Burst: 20},
		{Service: EC2, Operations: regexp.MustCompile("^AuthorizeSecurityGroupIngress$"), Rate: 2.5, Burst: 25},
		{Service: EC2, Operations: regexp.MustCompile("^RevokeSecurityGroupIngress$"), Rate: 2.5, Burst: 25},
		{Service: EC2, Operations: regexp.MustCompile("^(Create|Delete)(SecurityGroup|Tags)$"), Rate: 2.5, Burst: 25},
		{Service: EC2, Operations: regexp.MustCompile("^Describe"), Rate: 5, Burst: 25},
		{Service: STS, Operations: regexp.MustCompile("."), Rate: 25, Burst: 100},
		{Service: ACM, Operations: regexp.MustCompile("^Describe"), Rate: 5, Burst: 5},
		{Service: ACM, Operations: regexp.MustCompile("^ListTags"), Rate: 5, Burst: 5},
		{Service: ACM, Operations: regexp.MustCompile("^List"), Rate: 0.5, Burst: 1},
		{Service: ACM, Operations: regexp.MustCompile("^(Request|Delete)"), Rate: 2, Burst: 2},
		{Service: Route53, Operations: regexp.MustCompile("."), Rate: 1, Burst: 2},
		{Service: WAFv2, Operations: regexp.MustCompile("^(Associate|Disassociate)"), Rate: 0.5, Burst: 1},
		{Service: WAFv2, Operations: regexp.MustCompile("^GetWebACLForResource$"), Rate: 1, Burst: 1},
		{Service: WAFv2, Operations: regexp.MustCompile("^List"), Rate: 0.5, Burst: 1},
		{Service: WAFClassic, Operations: regexp.MustCompile("^(Associate|Disassociate)"), Rate: 0.5, Burst: 1},
		{Service: WAFClassic, Operations: regexp.MustCompile("^GetWebACLForResource$"), Rate: 1, Burst: 1},
		{Service: Shield, Operations: regexp.MustCompile("."), Rate: 1, Burst: 1},
	}
}

// Text is the rules as ParseRules reads them.
func Text(rules []Rule) string {
	parts := make([]string, 0, len(rules))
	for _, r := range rules {
		parts = append(parts, fmt.Sprintf("%s:%s=%g:%d", cmp.Or(r.Service, ELBv2), r.Operations, r.Rate, r.Burst))
	}
	return strings.Join(parts, ",")
}

// ParseRules reads serviceID:operationRegex=rate:burst,... as --aws-api-throttle gives it. The services whose calls are
// rationed are "ACM", "EC2", "Elastic Load Balancing v2", "Route 53", "STS", "Shield", "WAF Regional" and "WAFV2"; skipped are the parts
// for others. Blanks around parts do not count. An empty string gives no rules.
func ParseRules(s string) (rules []Rule, skipped []string, err error) {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		service, rest, ok := strings.Cut(part, ":")
		if ok && service != ELBv2 && !slices.Contains(ownServices, service) {
			skipped = append(skipped, part)
			continue
		}
		rule, err := parseRule(rest)
		if err != nil {
			return nil, nil, fmt.Errorf("%q: %w; must be serviceID:operationRegex=rate:burst, such as %q", part, err, ELBv2+":^Describe=25:100")
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
