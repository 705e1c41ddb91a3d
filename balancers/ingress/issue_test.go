// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/v1beta1"
)

// A certificate of its own is wanted of ACM, by the incumbent's tags, and serves once it is issued.
func TestIssuedCertificates(t *testing.T) {
	const (
		authority = "arn:aws:acm-pca:eu-west-1:123456789012:certificate-authority/1a2b"
		waiting   = `annotation alb.ingress.kubernetes.io/create-acm-cert, value "true": its certificate for a.example.net, b.example.net ` +
			"is not issued yet: "
	)
	own := func(arn, ca, waiting string, domains ...string) lookup.OwnCertificate {
		return lookup.OwnCertificate{Certificate: lookup.Certificate{ARN: arn, Domains: domains, CA: ca}, Waiting: waiting}
	}
	both := []string{"a.example.net", "b.example.net"}
	for name, tc := range map[string]struct {
		annotations map[string]string
		hosts       []string
		defaultCA   string
		own         []lookup.OwnCertificate
		noOwn       string

		part, ca string // of the certificate that is wanted
		serves   string
		faults   []string
	}{
		"not there yet": {hosts: both, part: "amazon_issued/a.example.net-7e561031", faults: []string{waiting + "it is requested from ACM"}},
		"not issued yet": {hosts: both, own: []lookup.OwnCertificate{own("x", "", "ACM works on it", both...)}, part: "amazon_issued/a.example.net-7e561031",
			faults: []string{waiting + "ACM works on it"}},
		"issued, beside one that failed": {hosts: both, own: []lookup.OwnCertificate{own("x", "", "failed", both...), own("y", "", "", "B.example.net", "a.example.net")},
			part: "amazon_issued/a.example.net-7e561031", serves: "y"},
		"for other hosts": {hosts: both, own: []lookup.OwnCertificate{own("x", "", "", "a.example.net")}, part: "amazon_issued/a.example.net-7e561031",
			faults: []string{waiting + "it is requested from ACM"}},
		"of another authority": {hosts: both, annotations: map[string]string{"acm-pca-arn": authority}, own: []lookup.OwnCertificate{own("x", "", "", both...)},
			part: "private/a.example.net-7e561031", ca: authority, faults: []string{waiting + "it is requested from ACM"}},
		"of the default authority": {hosts: both, defaultCA: authority, own: []lookup.OwnCertificate{own("x", authority, "", both...)},
			part: "private/a.example.net-7e561031", ca: authority, serves: "x"},
		"an empty authority is none":  {hosts: both, defaultCA: authority, annotations: map[string]string{"acm-pca-arn": ""}, own: []lookup.OwnCertificate{own("x", authority, "", both...)}, part: "private/a.example.net-7e561031", ca: authority, serves: "x"},
		"a wildcard":                  {hosts: []string{"*.example.net"}, own: []lookup.OwnCertificate{own("x", "", "", "*.example.net")}, part: "amazon_issued/_.example.net-7e561031", serves: "x"},
		"beside one that is given":    {hosts: both, annotations: map[string]string{"certificate-arn": certARN("b")}, serves: certARN("b")},
		"without a host":              {faults: []string{`annotation alb.ingress.kubernetes.io/create-acm-cert, value "true": there is no host to issue a certificate for: set one in spec.rules or spec.tls`}},
		"it is not known which exist": {hosts: both, noOwn: "no answer", part: "amazon_issued/a.example.net-7e561031", faults: []string{`annotation alb.ingress.kubernetes.io/create-acm-cert, value "true": the certificates of ACM are not known: no answer`}},
		"a wrong authority": {hosts: both, annotations: map[string]string{"acm-pca-arn": "web"}, faults: []string{
			`annotation alb.ingress.kubernetes.io/acm-pca-arn, value "web": must be an ARN such as arn:aws:acm-pca:eu-west-1:123456789012:certificate-authority/1a2b`}},
	} {
		t.Run(name, func(t *testing.T) {
			in := three(t)
			in.Options.IssueCertificates, in.Options.DefaultCA = true, tc.defaultCA
			in.AWS.Own, in.AWS.NoOwn = tc.own, tc.noOwn
			member := in.Members[1]
			member.Ingress.Spec.Rules[0].Host, member.Ingress.Spec.TLS = "", []networkingv1.IngressTLS{{Hosts: tc.hosts}}
			if len(tc.hosts) > 0 {
				member.Ingress.Spec.Rules[0].Host = tc.hosts[0]
			}
			annotate(&in, 1, annotation.IssueCertificate.FullName(), "true")
			for key, value := range tc.annotations {
				annotate(&in, 1, annotation.Prefix+key, value)
			}
			alone := slices.DeleteFunc(slices.Clone(tc.faults), func(f string) bool { return strings.Contains(f, "not issued") || strings.Contains(f, "not known") })
			if diff := cmp.Diff(alone, texts(CheckAlone(in.Group, member, in.Services, in.Options)), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("faults at admission (-want +got):\n%s", diff)
			}
			wanted, faults := Build(in)
			if diff := cmp.Diff(tc.faults, texts(faults)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			var part, ca string
			for _, c := range wanted.Certificates {
				part, ca = c.Tags[stack.Ingresses.ResourceTag()], c.CA
				if diff := cmp.Diff(tc.hosts, c.Domains); diff != "" || c.Tags[stack.ClusterTag] == "" {
					t.Errorf("tags %v, domains (-want +got):\n%s", c.Tags, diff)
				}
			}
			if part != tc.part || ca != tc.ca {
				t.Errorf("wanted is %q of %q, want %q of %q", part, ca, tc.part, tc.ca)
			}
			serves := ""
			for _, arn := range certificatesOf(wanted, membership.NameOf(member.Ingress)) {
				serves = arn
			}
			if serves != tc.serves {
				t.Errorf("the listener has certificate %q, want %q", serves, tc.serves)
			}
		})
	}
}

// certificatesOf are those of listeners that the member wants.
func certificatesOf(wanted stack.Stack, member string) (arns []string) {
	for _, b := range wanted.LoadBalancers {
		for _, l := range b.Listeners {
			for arn, owner := range l.Owners {
				if owner == member {
					arns = append(arns, arn)
				}
			}
		}
	}
	return arns
}

// An Ingress that names no ports listens for HTTPS if it has, or is to have, a certificate of its own. While that cannot be read, all ports
// may be its.
func TestPortsWithoutListenPorts(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations map[string]string
		params      v1beta1.IngressClassParamsSpec
		noGate      bool
		want        []int32
		held        bool
	}{
		"no certificate":                        {want: []int32{80}},
		"one that is given":                     {annotations: map[string]string{"certificate-arn": certARN("b")}, want: []int32{443}},
		"one of params":                         {params: v1beta1.IngressClassParamsSpec{CertificateArn: []string{certARN("b")}}, want: []int32{443}},
		"one that is issued":                    {annotations: map[string]string{"create-acm-cert": "true"}, want: []int32{443}},
		"one that is to be issued":              {annotations: map[string]string{"create-acm-cert": "true", "acm-pca-arn": "arn:aws:acm-pca:eu-west-1:1:certificate-authority/1"}, want: []int32{443}, held: true},
		"one that is issued, without the gate":  {annotations: map[string]string{"create-acm-cert": "true"}, noGate: true, want: []int32{80}},
		"none is to be issued":                  {annotations: map[string]string{"create-acm-cert": "false"}, want: []int32{80}},
		"a wrong one":                           {annotations: map[string]string{"certificate-arn": "b"}, held: true},
		"a wrong one, and one is issued":        {annotations: map[string]string{"certificate-arn": "b", "create-acm-cert": "true"}, held: true},
		"perhaps one is to be issued":           {annotations: map[string]string{"create-acm-cert": "perhaps"}, held: true},
		"perhaps one is issued, without a gate": {annotations: map[string]string{"create-acm-cert": "perhaps"}, noGate: true, want: []int32{80}},
		"perhaps, beside one that is given":     {annotations: map[string]string{"certificate-arn": certARN("b"), "create-acm-cert": "perhaps"}, want: []int32{443}},
	} {
		t.Run(name, func(t *testing.T) {
			in := three(t)
			in.Members = in.Members[1:2]
			in.Members[0].Params = &v1beta1.IngressClassParams{Spec: tc.params}
			in.Options.IssueCertificates = !tc.noGate
			in.AWS.Own = []lookup.OwnCertificate{{Certificate: lookup.Certificate{ARN: "x", Domains: []string{"b.example.com"}}}}
			delete(in.Members[0].Ingress.Annotations, annotation.ListenPorts.FullName())
			for key, value := range tc.annotations {
				annotate(&in, 0, annotation.Prefix+key, value)
			}
			wanted, faults := Build(in)
			got := wanted.Members[0].Ports
			for _, b := range wanted.LoadBalancers {
				for _, l := range b.Listeners {
					got = append(got, l.Port)
				}
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" || wanted.Members[0].Held != tc.held {
				t.Errorf("held: %v, faults %v, ports (-want +got):\n%s", wanted.Members[0].Held, faults, diff)
			}
		})
	}
}
