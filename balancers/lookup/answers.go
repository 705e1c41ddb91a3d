// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/targetgate/targetgate/balancers/stack"
)

// Answers are what was looked up in AWS: at least what Needs asks for.
type Answers struct {
	Subnets []Subnet // all of the VPC
	// NoSubnets says why they are not known, "" when they are. That concerns those who name some, and a load balancer that is not there.
	NoSubnets string
	// SecurityGroups are the IDs of those of the VPC by their Name tag, NoSecurityGroups is why those of a name are not known.
	SecurityGroups   map[string][]string
	NoSecurityGroups map[string]string
	Certificates     []Certificate // all of ACM that are issued
	// NoCertificates says why they are not known, "" when they are. Members that need them are held.
	NoCertificates string
	// Own are the certificates that ACM was asked for on behalf of the group, NoOwn is why they are not known.
	Own   []OwnCertificate
	NoOwn string
	// NoShield says why AWS Shield Advanced cannot protect load balancers, "" when it can.
	NoShield string
	// NoClassicACLs says why there can be no web ACLs of AWS WAF Classic, "" when there can be some.
	NoClassicACLs string
	// TargetGroups, TrustStores and WebACLs are what was found by their names, ClassicACLs by their IDs. What was not found concerns those
	// who name it alone.
	TargetGroups, TrustStores, WebACLs, ClassicACLs map[string]Named
	// Owned are the target groups of whose owners it was asked, by ARN.
	Owned map[string]Owned
}

// Owned are the tags of a thing by which its owner consents to its use, none if there is no such thing; or the Reason why they are not
// known.
type Owned struct {
	Tags   map[string]string
	Reason string
}

// Named is what was found by its name: its ARN, or the Reason why it is not known, or neither, as there is none.
type Named struct{ ARN, Reason string }

// Find is the ARN of what users name.
func Find(kind, name string, known map[string]Named) (string, error) {
	switch found := known[name]; {
	case found.Reason != "":
		return "", fmt.Errorf("%s %.100q could not be looked up: %s", kind, name, found.Reason)
	case found.ARN == "":
		return "", fmt.Errorf("the account has no %s %.100q in this Region: name one that it has", kind, name)
	default:
		return found.ARN, nil
	}
}

// Certificate is an issued one of ACM.
type Certificate struct {
	ARN     string
	Domains []string // its name and its alternative names
	CA      string   // ARN of the private certificate authority, "" for none
	// NotAfter is when it expires.
	NotAfter time.Time
}

// OwnCertificate is a certificate that ACM was asked for.
type OwnCertificate struct {
	Certificate
	// Waiting says why it is not issued yet, "" when it is.
	Waiting string
}

// SecurityGroupIDs are the IDs among the entries, in order, then those of all security groups that have one of the names, each once.
func (a *Answers) SecurityGroupIDs(entries []string) ([]string, error) {
	var ids, ofNames []string
	for _, entry := range entries {
		if IsSecurityGroupID(entry) {
			ids = append(ids, entry)
			continue
		}
		if why := a.NoSecurityGroups[entry]; why != "" {
			return nil, fmt.Errorf("security groups with the tag Name=%s could not be looked up: %s", entry, why)
		}
		found := a.SecurityGroups[entry]
		if len(found) == 0 {
			return nil, fmt.Errorf("no security group of the VPC has the tag Name=%s: name one that has", entry)
		}
		ofNames = append(ofNames, slices.Sorted(slices.Values(found))...)
	}
	all := Unique(slices.Concat(ids, ofNames))
	if n := len(all); n > stack.MostSecurityGroups {
		return nil, fmt.Errorf("%d security groups have these IDs and names: must be at most %d", n, stack.MostSecurityGroups)
	}
	return all, nil
}

// IsSecurityGroupID reports whether the entry of a list of security groups is an ID, and not a name.
func IsSecurityGroupID(entry string) bool { return strings.HasPrefix(entry, "sg-") }

// CertificateNames are the names of certificates that are for the host: its own, and that with a wildcard in place of its first label.
func CertificateNames(host string) []string {
	host = strings.ToLower(host)
	if _, parent, dotted := strings.Cut(host, "."); dotted {
		return []string{host, "*." + parent}
	}
	return []string{host}
}

// Unique has each item once, at its first place.
func Unique(items []string) (out []string) {
	known := map[string]bool{}
	for _, item := range items {
		if !known[item] {
			out = append(out, item)
		}
		known[item] = true
	}
	return out
}
