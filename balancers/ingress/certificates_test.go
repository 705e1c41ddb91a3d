// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
)

// A load balancer cannot use a Secret. Admission says so of each, as it does not know what is in ACM; afterwards only those are told whose
// certificate is missing there.
func TestSecretsOfTLS(t *testing.T) {
	const (
		found, missing = "b.example.com", "b.example.org"

		unused = `spec.tls[0].secretName, value "own": is not used, as a load balancer can only use certificates of ACM and IAM: ` +
			"have ACM issue a certificate for each host, or import one, or set alb.ingress.kubernetes.io/certificate-arn"
		hint = "; Secret own of spec.tls is not used, as a load balancer can only use certificates of ACM and IAM: import its certificate into ACM"

		noneForRule = `spec.rules[0].host, value "b.example.org": ` + noneFor
		plain       = "spec.tls: all listeners of this Ingress are for HTTP: set one for HTTPS in alb.ingress.kubernetes.io/listen-ports"
	)
	for name, tc := range map[string]struct {
		host         string
		tls          []networkingv1.IngressTLS
		annotations  map[string]string
		alone, built []string
	}{
		"in ACM":            {host: found, tls: tlsOf("own", found), alone: []string{unused}},
		"not in ACM":        {host: missing, tls: tlsOf("own", missing), alone: []string{unused}, built: []string{noneForRule + hint}},
		"for all hosts":     {host: missing, tls: tlsOf("own"), alone: []string{unused}, built: []string{noneForRule + hint}},
		"for another host":  {host: missing, tls: tlsOf("own", found), alone: []string{unused}, built: []string{noneForRule}},
		"without a Secret":  {host: missing, tls: tlsOf("", missing), built: []string{noneForRule}},
		"of a TLS host":     {host: found, tls: tlsOf("own", missing), alone: []string{unused}, built: []string{`spec.tls[0].hosts[0], value "b.example.org": ` + noneFor + hint}},
		"given by ARN":      {host: missing, tls: tlsOf("own", missing), annotations: map[string]string{"certificate-arn": certARN("b")}},
		"behind HTTP alone": {host: missing, tls: tlsOf("own", missing), annotations: map[string]string{"listen-ports": `[{"HTTP":80}]`}, alone: []string{plain}, built: []string{plain}},
		"wrong ports":       {host: missing, tls: tlsOf("own", missing), annotations: map[string]string{"listen-ports": `[]`}, alone: []string{wrongPorts}, built: []string{wrongPorts}},
		"without a host": {
			tls: tlsOf("own"), annotations: map[string]string{"listen-ports": `[{"HTTPS":8443}]`}, alone: []string{unused},
			built: []string{`annotation alb.ingress.kubernetes.io/listen-ports, value "[{\"HTTPS\":8443}]": port 8443 is HTTPS and has no certificate: ` +
				"set alb.ingress.kubernetes.io/certificate-arn, or a host whose certificate is in ACM" + hint},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := three(t)
			member := in.Members[1]
			member.Ingress.Spec.Rules[0].Host, member.Ingress.Spec.TLS = tc.host, tc.tls
			for key, value := range tc.annotations {
				annotate(&in, 1, annotation.Prefix+key, value)
			}
			if diff := cmp.Diff(tc.alone, texts(CheckAlone(in.Group, member, in.Services, in.Options))); diff != "" {
				t.Errorf("at admission (-want +got):\n%s", diff)
			}
			_, faults := Build(in)
			if diff := cmp.Diff(tc.built, texts(faults)); diff != "" {
				t.Errorf("when it is built (-want +got):\n%s", diff)
			}
		})
	}
}

const (
	noneFor    = "ACM has no certificate for this host: have one issued, or set the annotation alb.ingress.kubernetes.io/certificate-arn"
	wrongPorts = `annotation alb.ingress.kubernetes.io/listen-ports, value "[]": list at least one listener, as [{"HTTP": 80}]`
)

func tlsOf(secret string, hosts ...string) []networkingv1.IngressTLS {
	return []networkingv1.IngressTLS{{SecretName: secret, Hosts: hosts}}
}

// texts are those of the faults, all of one member, sorted.
func texts(faults []fault.Fault) (out []string) {
	for _, fault := range faults {
		out = append(out, fault.Error())
	}
	slices.Sort(out)
	return out
}
