// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/stack"
)

// asksForCertificate reports whether ACM is to issue a certificate for the member.
func asksForCertificate(m membership.Member) bool {
	wanted, _, _ := annotation.IssueCertificate.In(m.Ingress.Annotations)
	return wanted
}

// issueCertificate has the member's listeners have the certificate that was issued for it. Until there is one the member is held.
func (r *reading) issueCertificate() {
	authority, _ := get(r, annotation.PrivateCA)
	wanted := stack.Certificate{Member: r.name, CA: cmp.Or(authority, r.in.Options.DefaultCA)}
	for _, host := range hostsOf(r.member.Ingress) {
		wanted.Domains = append(wanted.Domains, strings.ToLower(host.name))
	}
	if len(wanted.Domains) == 0 {
		r.fail(r.issueFault("there is no host to issue a certificate for: want one in spec.rules or spec.tls"))
		return
	}
	slices.Sort(wanted.Domains)
	wanted.Domains = slices.Compact(wanted.Domains)
	wanted.Tags = r.in.tagsOf(certificatePart(wanted), r.tags)
	if _, _, err := annotation.PrivateCA.In(r.annotations()); err != nil || r.in.alone {
		return
	}
	r.issue = &wanted
	if why := r.in.AWS.NoOwn; why != "" {
		r.fail(r.issueFault("the certificates of ACM are not known: " + why))
		return
	}
	r.takeIssued(wanted)
}

// takeIssued has listeners have the wanted certificate if it is issued.
func (r *reading) takeIssued(wanted stack.Certificate) {
	waiting := "it is requested from ACM"
	for _, own := range r.in.AWS.Own {
		switch {
		case !wanted.Is(own.Domains, own.CA):
		case own.Waiting == "":
			r.certificates = []string{own.ARN}
			return
		default:
			waiting = own.Waiting
		}
	}
	r.fail(r.issueFault("its certificate for " + strings.Join(wanted.Domains, ", ") + " is not issued yet: " + waiting))
}

func (r *reading) issueFault(reason string) annotation.Fault {
	return annotation.Fault{Annotation: annotation.IssueCertificate.FullName(),
		Value: r.annotations()[annotation.IssueCertificate.FullName()], Reason: reason}
}

// certificatePart is the value of the resource tag, as the incumbent writes it; it makes no certificate whose name is a wildcard, as ACM
// takes no asterisk in tags.
func certificatePart(c stack.Certificate) string {
	kind := "amazon_issued"
	if c.CA != "" {
		kind = "private"
	}
	sum := sha256.Sum256([]byte(c.Member))
	return kind + "/" + strings.ReplaceAll(c.Domains[0], "*", "_") + "-" + hex.EncodeToString(sum[:4])
}
