// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/targetgate/targetgate/balancers/stack"
)

// The parsers of annotations' values, as the incumbent reads them. Their errors say what would be right; the caller names annotation and
// value.

func parseText(value string) (string, error) { return value, nil }

func parseBool(value string) (bool, error) {
	b, err := strconv.ParseBool(value)
	if err != nil {
		return false, errors.New("must be true or false")
	}
	return b, nil
}

// intBetween parses decimal integers of that range.
func intBetween(lowest, highest int64) func(string) (int64, error) {
	return func(value string) (int64, error) {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < lowest || n > highest {
			return 0, fmt.Errorf("must be an integer from %d to %d", lowest, highest)
		}
		return n, nil
	}
}

// oneOf parses the choices, whose case counts.
func oneOf(choices ...string) func(string) (string, error) {
	return func(value string) (string, error) {
		if !slices.Contains(choices, value) {
			return "", fmt.Errorf("must be %s or %s", strings.Join(choices[:len(choices)-1], ", "), choices[len(choices)-1])
		}
		return value, nil
	}
}

// textUpTo parses texts of that many bytes at most.
func textUpTo(most int) func(string) (string, error) {
	return func(value string) (string, error) {
		if len(value) > most {
			return "", fmt.Errorf("has %d characters, must be at most %d", len(value), most)
		}
		return value, nil
	}
}

// parseCheckPath parses paths of health checks.
func parseCheckPath(value string) (string, error) {
	const longest = 1024
	if n := utf8.RuneCountInString(value); !strings.HasPrefix(value, "/") || n > longest {
		return "", fmt.Errorf("must be a slash and what follows it, at most %d characters", longest)
	}
	return value, nil
}

// CodesWithin is an error unless the text is codes or ranges of codes of that range, with commas between them.
func CodesWithin(text string, lowest, highest int) error {
	for part := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			high = low
		}
		from, err := strconv.Atoi(low)
		to, err2 := strconv.Atoi(high)
		if err != nil || err2 != nil || from < lowest || to > highest || from > to {
			return fmt.Errorf("must be codes from %d to %d such as %d or %d-%d, with commas between them", lowest, highest, lowest, lowest, highest)
		}
	}
	return nil
}

// ParseList parses what stands between commas, without blanks around it. Empty items do not count.
func ParseList(value string) ([]string, error) {
	var items []string
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items, nil
}

// mostListed is how many items lists may have of things of which a load balancer has few, as subnets: some ten times as many.
const mostListed = 100

// atMost is an error when there are more than so many.
func atMost(n, most int, what string) error {
	if n > most {
		return fmt.Errorf("has %d %s, must be at most %d", n, what, most)
	}
	return nil
}

// parseShortList is ParseList of mostListed at most.
func parseShortList(value string) ([]string, error) {
	items, err := ParseList(value)
	if long := atMost(len(items), mostListed, "items"); long != nil {
		return nil, long
	}
	return items, err
}

// listOf parses lists of which each item with the prefix is of that form; want says what would be right.
func listOf(prefix string, form *regexp.Regexp, want string) func(string) ([]string, error) {
	return func(value string) ([]string, error) {
		items, err := ParseList(value)
		for _, item := range items {
			if strings.HasPrefix(item, prefix) && !form.MatchString(item) {
				return nil, fmt.Errorf("%.100q: must be %s", item, want)
			}
		}
		return items, err
	}
}

var (
	// ParseCertificates parses ARNs of certificates.
	ParseCertificates = listOf("", regexp.MustCompile(`^arn:[^:]+:(acm|iam):[^:]*:[^:]*:(server-)?certificate/.+$`),
		"the ARN of a certificate of ACM or IAM")
	securityGroupList = listOf("sg-", regexp.MustCompile(`^sg-[0-9a-f]+$`), "an ID such as sg-0123456789abcdef0, or a Name tag")
	parsePrefixLists  = listOf("", regexp.MustCompile(`^pl-[0-9a-f]+$`), "an ID such as pl-0123456789abcdef0")
)

// parseSecurityGroups parses IDs and Name tags. A call looks up each of the latter.
func parseSecurityGroups(value string) ([]string, error) {
	const longest = 255 // of what EC2 looks for
	items, err := securityGroupList(value)
	different := map[string]bool{}
	for _, item := range items {
		if n := utf8.RuneCountInString(item); n > longest {
			return nil, fmt.Errorf("%.50q has %d characters, must be at most %d", item, n, longest)
		}
		different[item] = true
	}
	if n := len(different); n > stack.MostSecurityGroups {
		return nil, fmt.Errorf("has %d security groups, must be at most %d", n, stack.MostSecurityGroups)
	}
	return items, err
}

var webACLARN = regexp.MustCompile(`^arn:[^:]+:wafv2:[^:]+:[^:]+:regional/webacl/[^/]+/[^/]+$`)

// parseWebACL parses what may take the present web ACL off, or say nothing.
func parseWebACL(value string) (string, error) {
	if value != "" && value != NoWebACL && !webACLARN.MatchString(value) {
		return "", errors.New("must be the ARN of a regional web ACL, or none")
	}
	return value, nil
}

var classicACLID = regexp.MustCompile(`^[A-Za-z0-9-]{1,128}$`)

// parseClassicACL parses what may take the present web ACL off, or say nothing.
func parseClassicACL(value string) (string, error) {
	if value != "" && !classicACLID.MatchString(value) {
		return "", errors.New("must be the ID of a web ACL of AWS WAF Classic, or none")
	}
	return value, nil
}

// parsePool parses the ID of a pool of addresses, which begins with the kind.
func parsePool(kind string) func(string) (string, error) {
	form := regexp.MustCompile("^" + kind + "-[a-zA-Z0-9]+$")
	return func(value string) (string, error) {
		if !form.MatchString(value) {
			return "", fmt.Errorf("must be an ID such as %s-0123456789abcdef0", kind)
		}
		return value, nil
	}
}

// CapacityUnits is the only key of a capacity.
const CapacityUnits = "CapacityUnits"

func parseCapacity(value string) (int32, error) {
	pairs, err := parseMap(value)
	if err != nil {
		return 0, err
	}
	text, ok := pairs[CapacityUnits]
	if !ok || len(pairs) > 1 {
		return 0, errors.New("must be " + CapacityUnits + "=NUMBER")
	}
	units, err := strconv.ParseInt(text, 10, 32)
	if err != nil || units < 0 {
		return 0, fmt.Errorf("%s %.20q: must be 0 or more", CapacityUnits, text)
	}
	return int32(units), nil
}

// parseCIDRs keeps the spelling, as security groups are compared with it by their own rules.
func parseCIDRs(value string) ([]string, error) {
	items, err := ParseList(value)
	for _, item := range items {
		if _, err := netip.ParsePrefix(item); err != nil {
			return nil, fmt.Errorf("%.50q is not a CIDR such as 10.0.0.0/8 or 2001:db8::/32", item)
		}
	}
	return items, err
}

var privateCA = regexp.MustCompile(`^arn:aws[-a-z]*:acm-pca:[-a-z0-9]+:[0-9]{12}:certificate-authority/[-0-9a-zA-Z]+$`)

// CheckCA is an error unless the text is the ARN of a private certificate authority.
func CheckCA(arn string) error {
	if !privateCA.MatchString(arn) {
		return errors.New("must be an ARN such as arn:aws:acm-pca:eu-west-1:123456789012:certificate-authority/1a2b")
	}
	return nil
}

// parseCA also takes an empty text, which the incumbent takes for none.
func parseCA(value string) (string, error) {
	if value == "" {
		return "", nil
	}
	return value, CheckCA(value)
}

const maxGroupName = 63

var groupName = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`)

// CheckGroupName is an error when no group may have the name.
func CheckGroupName(name string) error {
	if len(name) > maxGroupName || !groupName.MatchString(name) {
		return fmt.Errorf("group name %.80q: must be 1 to %d lower-case letters, digits, hyphens and dots, "+
			"with a letter or digit at both ends", name, maxGroupName)
	}
	return nil
}
