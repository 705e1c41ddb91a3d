// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"regexp"
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

// What a listener's TLS needs. Which certificate a client gets is for the data plane to choose.

// PutCertificate has listeners take a certificate by its ARN that is not one of ACM.
func (m *Machine) PutCertificate(arn string) {
	m.enter()
	defer m.leave()
	m.certificates[arn] = true
}

// policyName is what the names of all SSL policies look like.
var policyName = regexp.MustCompile(`^ELBSecurityPolicy-[A-Z0-9a-z-]*20\d\d-\d\d[A-Za-z0-9-]*$`)

// certificateARN is what the ARNs of certificates look like, which ACM or IAM keeps.
var certificateARN = regexp.MustCompile(`^arn:[^:]+:(acm|iam):[^:]*:[^:]*:(server-)?certificate/.+$`)

func certificateNotFound(arn string) error {
	return refusal.New("CertificateNotFound", "Certificate '%s' not found", arn)
}

func (m *Machine) validateTLS(spec ListenerSpec) error {
	if spec.Protocol != ProtocolHTTPS {
		if len(spec.Certificates) > 0 || spec.SSLPolicy != "" {
			return refusal.New("InvalidConfigurationRequest", "Certificates and SSL policies cannot be specified for '%s' listeners", spec.Protocol)
		}
		return nil
	}
	if len(spec.Certificates) == 0 {
		return refusal.Invalid("A certificate must be specified for HTTPS listeners")
	}
	if !policyName.MatchString(spec.SSLPolicy) {
		return refusal.New("SSLPolicyNotFound", "SSL policy '%s' not found", spec.SSLPolicy)
	}
	return m.validateCertificate(spec.Certificates[0])
}

func (m *Machine) validateCertificate(arn string) error {
	if !certificateARN.MatchString(arn) {
		return refusal.Invalid("Certificate ARN '%s' is not valid", arn)
	}
	if !m.certificates[arn] && !m.acm.Issued(arn) {
		return certificateNotFound(arn)
	}
	return nil
}

// AddCertificates adds certificates to the list for SNI; one that is there already stays.
func (m *Machine) AddCertificates(listenerARN string, arns []string) ([]string, error) {
	m.enter()
	defer m.leave()
	l := m.listener(listenerARN)
	if l == nil {
		return nil, listenerNotFound()
	}
	if l.Protocol != ProtocolHTTPS {
		return nil, refusal.New("OperationNotPermitted", "Certificates cannot be added to a '%s' listener", l.Protocol)
	}
	list := slices.Clone(l.Certificates)
	for _, arn := range arns {
		if err := m.validateCertificate(arn); err != nil {
			return nil, err
		}
		if !slices.Contains(list[1:], arn) {
			list = append(list, arn)
		}
	}
	count := len(list) - 1
	for _, other := range m.listenersOf(l.balancer) {
		if other != l {
			count += max(0, len(other.Certificates)-1)
		}
	}
	if count > m.opts.Quotas.CertificatesPerBalancer {
		return nil, refusal.New("TooManyCertificates",
			"The maximum number of certificates has been reached on load balancer '%s'", l.LoadBalancer)
	}
	l.Certificates = list
	return list[1:], nil
}

// RemoveCertificates takes certificates from the list for SNI; one that is not in it is no error, but for the default one.
func (m *Machine) RemoveCertificates(listenerARN string, arns []string) error {
	m.enter()
	defer m.leave()
	l := m.listener(listenerARN)
	if l == nil {
		return listenerNotFound()
	}
	if len(l.Certificates) == 0 {
		return nil
	}
	list := slices.Clone(l.Certificates[1:])
	for _, arn := range arns {
		if arn == l.Certificates[0] && !slices.Contains(list, arn) {
			return refusal.New("OperationNotPermitted", "Default certificate '%s' cannot be removed", arn)
		}
		list = slices.DeleteFunc(list, func(other string) bool { return other == arn })
	}
	l.Certificates = append(l.Certificates[:1:1], list...)
	return nil
}

// CertificateUsers are the load balancers whose listeners have a certificate.
func (m *Machine) CertificateUsers(arn string) []string {
	m.enter()
	defer m.leave()
	var found []string
	for _, l := range m.listeners {
		if slices.Contains(l.Certificates, arn) && !slices.Contains(found, l.LoadBalancer) {
			found = append(found, l.LoadBalancer)
		}
	}
	return found
}
