//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/e2e/emulator/acm"
	"github.com/targetgate/targetgate/e2e/emulator/route53"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/suite"
)

// ACM issues a certificate for the hosts of an Ingress once it finds the records in public DNS. Another one for other hosts, or of another
// authority, takes its place when it is issued, and the last one goes with the Ingress. A restart changes nothing of that.
func TestCertificatesAreIssued(t *testing.T) { // by itself, as it restarts targetgate
	const (
		zone = "issued.test"
		ca   = "arn:aws:acm-pca:eu-west-1:123456789012:certificate-authority/1a2b"
	)
	dns := bed.AWS.Route53
	public, private := dns.CreateZone(zone, false), dns.CreateZone("private."+zone, true)
	app := deploy(t, "issue")
	ingress := newIngress(app, "issue", "issue", prefix+"scheme=internal", prefix+`listen-ports=[{"HTTP": 80}, {"HTTPS": 443}]`,
		prefix+"create-acm-cert=true")
	host := "web.private." + zone // of which ACM finds no record in the private zone
	ingress.Spec.Rules[0].Host = host
	create(t, ingress)
	balancer := awaitBalancer(t, ingress, "")
	first := awaitIssued(t, balancer, "", host)
	tags := first.Tags
	if tags["ingress.k8s.aws/stack"] != "issue" || !strings.HasPrefix(tags["ingress.k8s.aws/resource"], "amazon_issued/"+host+"-") {
		t.Errorf("tags %v", tags)
	}

	bed.Targetgate.Kill() // whoever comes next finds the certificate by its tags
	suite.Must(t, bed.Targetgate.Restart(t.Context()))

	another := "another." + zone
	suite.Change(t, bed, ingress, func(i *networkingv1.Ingress) { i.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{another}}} })
	second := awaitIssued(t, balancer, first.ARN, another, host)
	annotate(t, ingress, "acm-pca-arn", ca)
	third := awaitIssued(t, balancer, second.ARN, another, host)
	if third.CA != ca || third.Type != acm.Private {
		t.Errorf("it is issued as %s by %q, want it private and by %s", third.Type, third.CA, ca)
	}
	remove(t, ingress)
	suite.Eventually(t, "the certificate to be deleted", func() error { return noneFor(host) })
	if records := dns.Records(private); len(records) > 0 {
		t.Errorf("records of the private zone: %+v, want none", records)
	}
	if records := dns.Records(public); len(records) != 2 || slices.ContainsFunc(records, func(r route53.Record) bool { return r.Type != "CNAME" }) {
		t.Errorf("records of the public zone: %+v, want one for each host: other certificates of the account may need them", records)
	}
	requests := slices.DeleteFunc(bed.AWS.Calls(0), func(c wire.Call) bool { return c.Operation != "RequestCertificate" })
	if len(requests) != 3 {
		t.Errorf("%d certificates were requested, want 3", len(requests))
	}
	ours := []string{"ReadTagsAndZones", "RequestCertificates", "DeleteCertificates", "CreateValidationRecords"} // of certificates.json
	for _, grant := range bed.UnusedGrants() {
		if slices.Contains(ours, grant.Statement) && grant.Action != "acm:AddTagsToCertificate" { // which AWS asks for and the emulator does not
			t.Errorf("config/iam/certificates.json grants %s, which is not needed", grant.Action)
		}
	}
}

// awaitIssued waits until the load balancer has another certificate than before, which is deleted then. At each moment the one that it has
// is issued.
func awaitIssued(t *testing.T, balancer, before string, hosts ...string) (issued acm.Certificate) {
	t.Helper()
	suite.Eventually(t, "another certificate", func() error {
		found, ok := bed.AWS.ELB.BalancerNamed(balancer)
		if !ok {
			return errors.New("there is no load balancer")
		}
		listeners, err := bed.AWS.ELB.Listeners(found.ARN)
		at := slices.IndexFunc(listeners, func(l state.Listener) bool { return l.Port == 443 })
		if err != nil || at < 0 {
			return errors.Join(err, errors.New("there is no HTTPS listener"))
		}
		arn := listeners[at].Certificates[0]
		issued, err = bed.AWS.ACM.Certificate(arn)
		suite.Must(t, err)
		if issued.Status != acm.Issued {
			t.Fatalf("the listener has a certificate that is %s", issued.Status)
		}
		if !slices.Equal(issued.Domains, hosts) || arn == before {
			return fmt.Errorf("it has %s for %v", arn, issued.Domains)
		}
		return nil
	})
	suite.Eventually(t, "the former certificate to be deleted", func() error {
		if _, err := bed.AWS.ACM.Certificate(before); err == nil {
			return errors.New("it is there")
		}
		return nil
	})
	return issued
}

func noneFor(host string) error {
	for _, c := range bed.AWS.ACM.Certificates("") {
		if slices.Contains(c.Domains, host) {
			return fmt.Errorf("%s is there for %v", c.ARN, c.Domains)
		}
	}
	return nil
}
