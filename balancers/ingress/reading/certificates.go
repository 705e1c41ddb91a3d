// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package reading

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
)

// discoverCertificates finds those of all the member's hosts, sorted by ARN. A host without one is a fault.
func (r listenerReader) discoverCertificates() {
	if r.in.Alone {
		r.warnOfSecrets()
		return
	}
	hosts := input.HostsOf(r.Member.Ingress)
	if why := r.in.AWS.NoCertificates; why != "" && len(hosts) > 0 {
		r.Fail(fault.Fault{Reason: "the certificates of ACM are not known: " + why})
		return
	}
	before, known, names := len(r.Faults), r.in.CertificatesByName(), map[string]bool{}
	for i, host := range hosts {
		if wrong := len(r.Faults) - before; wrong >= mostWrong {
			r.Fail(fault.Fault{Field: "spec", Reason: fmt.Sprintf("certificates of %d more hosts are not looked for: fix the %d hosts before "+
				"them first", len(hosts)-i, wrong)})
			return
		}
		fits := false
		for _, name := range lookup.CertificateNames(host.Name) {
			if len(known[name]) > 0 {
				names[name], fits = true, true
			}
		}
		if !fits {
			r.Fail(fault.Fault{
				Field: host.Field, Value: host.Name,
				Reason: "ACM has no certificate for this host: have one issued, or set the annotation " + annotation.Certificates.FullName() +
					UnusedSecret(r.Member.Ingress, host.Name),
			})
		}
	}
	for name := range names {
		r.Certificates = append(r.Certificates, known[name]...)
	}
	slices.Sort(r.Certificates)
	r.Certificates = slices.Compact(r.Certificates)
}

// whyUnused is why no certificate comes from a Secret, such as cert-manager's.
const whyUnused = "a load balancer can only use certificates of ACM and IAM"

// warnOfSecrets tells those who expect their Secrets to be used, where nobody knows yet what is in ACM.
func (r listenerReader) warnOfSecrets() {
	for i, tls := range r.Member.Ingress.Spec.TLS {
		if tls.SecretName != "" {
			r.warnOf(fault.Fault{
				Field: fmt.Sprintf("spec.tls[%d].secretName", i), Value: tls.SecretName,
				Reason: "is not used, as " + whyUnused + ": have ACM issue a certificate for each host, or import one, or set " +
					annotation.Certificates.FullName(),
			})
		}
	}
}

// UnusedSecret is what to say of a host without certificate if spec.tls names a Secret for it, or one for all hosts; else "".
func UnusedSecret(ingress *networkingv1.Ingress, host string) string {
	for _, tls := range ingress.Spec.TLS {
		if tls.SecretName != "" && (len(tls.Hosts) == 0 || slices.Contains(tls.Hosts, host)) {
			return fmt.Sprintf("; Secret %s of spec.tls is not used, as %s: import its certificate into ACM", tls.SecretName, whyUnused)
		}
	}
	return ""
}

// issueCertificate has the member's listeners have the certificate that was issued for it. Until there is one the member is held.
func (r listenerReader) issueCertificate() {
	if r.in.Options.Sizes().HasTooMany(r.Member.Ingress) { // its hosts are not read, and it is held for that
		return
	}
	authority, _ := get(r.Reading, annotation.PrivateCA)
	wanted := stack.Certificate{Member: r.Name, CA: cmp.Or(authority, r.in.Options.DefaultCA)}
	for _, host := range input.HostsOf(r.Member.Ingress) {
		wanted.Domains = append(wanted.Domains, strings.ToLower(host.Name))
	}
	if len(wanted.Domains) == 0 {
		r.Fail(r.issueFault("there is no host to issue a certificate for: set one in spec.rules or spec.tls"))
		return
	}
	slices.Sort(wanted.Domains)
	wanted.Domains = slices.Compact(wanted.Domains)
	wanted.Tags = r.in.TagsOf(certificatePart(wanted), r.Tags)
	if _, _, err := annotation.PrivateCA.In(r.Annotations()); err != nil || r.in.Alone {
		return
	}
	r.Issue = &wanted
	if why := r.in.AWS.NoOwn; why != "" {
		r.Fail(r.issueFault("the certificates of ACM are not known: " + why))
		return
	}
	r.takeIssued(wanted)
}

// takeIssued has listeners have the wanted certificate if it is issued.
func (r listenerReader) takeIssued(wanted stack.Certificate) {
	waiting := "it is requested from ACM"
	for _, own := range r.in.AWS.Own {
		switch {
		case !wanted.Is(own.Domains, own.CA):
		case own.Waiting == "":
			r.Certificates = []string{own.ARN}
			return
		default:
			waiting = own.Waiting
		}
	}
	r.Fail(r.issueFault("its certificate for " + strings.Join(wanted.Domains, ", ") + " is not issued yet: " + waiting))
}

func (r listenerReader) issueFault(reason string) fault.Fault {
	return fault.Fault{Annotation: annotation.IssueCertificate.FullName(),
		Value: r.Annotations()[annotation.IssueCertificate.FullName()], Reason: reason}
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
