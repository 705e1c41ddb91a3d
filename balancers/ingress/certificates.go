// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
)

// discoverCertificates finds those of all the member's hosts, sorted by ARN. A host without one is a fault.
func (r *reading) discoverCertificates() {
	if r.in.alone {
		r.warnOfSecrets()
		return
	}
	hosts, found := hostsOf(r.member.Ingress), map[string]bool{}
	if why := r.in.AWS.NoCertificates; why != "" && len(hosts) > 0 {
		r.fail(annotation.Fault{Reason: "the certificates of ACM are not known: " + why})
		return
	}
	for _, host := range hosts {
		fits := false
		for _, certificate := range r.in.AWS.Certificates {
			if certificate.fits(host.name) && r.in.Options.allows(certificate) {
				found[certificate.ARN], fits = true, true
			}
		}
		if !fits {
			r.fail(annotation.Fault{
				Field: host.field, Value: host.name,
				Reason: "no certificate in ACM is for this host: want one that is issued, or the annotation " + annotation.Certificates.FullName() +
					unusedSecret(r.member.Ingress, host.name),
			})
		}
	}
	for arn := range found {
		r.certificates = append(r.certificates, arn)
	}
	slices.Sort(r.certificates)
}

// whyUnused is why no certificate comes from a Secret, such as cert-manager's.
const whyUnused = "a load balancer takes certificates of ACM and IAM alone"

// warnOfSecrets tells those who expect their Secrets to be used, where nobody knows yet what is in ACM.
func (r *reading) warnOfSecrets() {
	for i, tls := range r.member.Ingress.Spec.TLS {
		if tls.SecretName != "" {
			r.warnOf(annotation.Fault{
				Field: fmt.Sprintf("spec.tls[%d].secretName", i), Value: tls.SecretName,
				Reason: "is not used, as " + whyUnused + ": have one in ACM for each host, issued or imported, or set " +
					annotation.Certificates.FullName(),
			})
		}
	}
}

// unusedSecret is what to say of a host without certificate if spec.tls names a Secret for it, or one for all hosts; else "".
func unusedSecret(ingress *networkingv1.Ingress, host string) string {
	for _, tls := range ingress.Spec.TLS {
		if tls.SecretName != "" && (len(tls.Hosts) == 0 || slices.Contains(tls.Hosts, host)) {
			return fmt.Sprintf("; Secret %s of spec.tls is not used, as %s: import its certificate into ACM", tls.SecretName, whyUnused)
		}
	}
	return ""
}

// host is one with the path of the field that has it.
type host struct{ name, field string }

// hostsOf are the hosts of an Ingress's rules and of its spec.tls.
func hostsOf(ingress *networkingv1.Ingress) []host {
	var hosts []host
	add := func(name, field string) {
		if name != "" && !slices.ContainsFunc(hosts, func(h host) bool { return h.name == name }) {
			hosts = append(hosts, host{name, field})
		}
	}
	for i, rule := range ingress.Spec.Rules {
		add(rule.Host, fmt.Sprintf("spec.rules[%d].host", i))
	}
	for i, tls := range ingress.Spec.TLS {
		for j, name := range tls.Hosts {
			add(name, fmt.Sprintf("spec.tls[%d].hosts[%d]", i, j))
		}
	}
	return hosts
}

// fits reports whether the certificate is for the host: by its exact name, or by a wildcard in place of its first label.
func (c *Certificate) fits(host string) bool {
	return slices.ContainsFunc(c.Domains, func(domain string) bool {
		if strings.EqualFold(domain, host) {
			return true
		}
		parent, wildcard := strings.CutPrefix(domain, "*.")
		_, rest, dotted := strings.Cut(host, ".")
		return wildcard && dotted && strings.EqualFold(parent, rest)
	})
}

func (o *Options) allows(certificate Certificate) bool {
	return len(o.AllowedCAs) == 0 || slices.Contains(o.AllowedCAs, certificate.CA)
}
