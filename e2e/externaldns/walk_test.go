//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/e2e/emulator/acm"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// A manifest as it is in production goes its way under load, by the names that users have: two groups, a rollout, another certificate, another
// group, the end. Nothing is left of it.
func TestProductionWalk(t *testing.T) {
	t.Parallel()
	app := deploy(t, "walk")
	aws := bed.AWS
	first, err := aws.ACM.Add("", acm.Spec{Domains: []string{"*." + domain}})
	suite.Must(t, err)
	second, err := aws.ACM.Add("", acm.Spec{Domains: []string{"*." + domain}})
	suite.Must(t, err)
	t.Cleanup(func() { _ = errors.Join(aws.ACM.Delete(first.ARN), aws.ACM.Delete(second.ARN)) }) // of use to no other test
	given, err := aws.EC2.CreateSecurityGroup("", ec2.SecurityGroupSpec{Name: "walk", Description: "made by Terraform"})
	suite.Must(t, err)
	anywhere := ec2.Rule{Protocol: "tcp", From: 1, To: 65535, Source: ec2.Source{CIDR: netip.MustParsePrefix("0.0.0.0/0")}}
	suite.Must(t, aws.EC2.AuthorizeIngress("", given.ID, []ec2.Permission{{Rule: anywhere}}))
	fromThere := ec2.Rule{Protocol: "tcp", From: 8080, To: 8080, Source: ec2.Source{Group: given.ID}}
	suite.Must(t, aws.EC2.AuthorizeIngress("", bed.NodeSecurityGroup, []ec2.Permission{{Rule: fromThere}}))

	public := production(app, "walk-public", "walk-public", "internet-facing", given.ID, first.ARN)
	vpn := production(app, "walk-vpn", "walk-vpn", "internal", given.ID, first.ARN)
	members := map[*networkingv1.Ingress]*externalDNS{
		public: startExternalDNS(t, "walk-public,walk-moved", "public"), vpn: startExternalDNS(t, "walk-vpn", "private"),
	}
	var stops []func()
	before := map[*networkingv1.Ingress]string{}
	for member, dns := range members {
		create(t, member)
		before[member] = awaitBalancer(t, member, "")
		dns.awaitRecord(t, hostOf(member.Name), before[member])
		suite.Eventually(t, "answers", func() error { return answers(t, dns, app, hostOf(member.Name)) })
		stops = append(stops, underLoad(t, dns, app, hostOf(member.Name)))
	}
	suite.Must(t, bed.Roll(t.Context(), app, "v2", nil))
	bed.AwaitRolled(t, app)
	for member := range members {
		annotate(t, member, "certificate-arn", second.ARN)
		awaitCertificate(t, before[member], second.ARN)
	}
	annotate(t, public, "group.name", "walk-moved")
	after := awaitBalancer(t, public, before[public])
	members[public].awaitRecord(t, hostOf(public.Name), after)
	suite.Eventually(t, "the former load balancer to be gone", func() error { return goneIs(before[public]) })
	for _, stop := range stops {
		stop()
	}
	members[public].wantHistory(t, hostOf(public.Name), "CREATE "+before[public], "UPSERT "+after)
	for member, dns := range members {
		remove(t, member)
		dns.awaitNone(t, hostOf(member.Name))
	}
	suite.Eventually(t, "nothing to be left", func() error {
		groups, err := aws.ELB.Groups(state.GroupFilter{})
		groups = slices.DeleteFunc(groups, func(g state.Group) bool { return !strings.HasPrefix(g.Name, "k8s-walk-") })
		if err == nil && len(groups) > 0 {
			err = fmt.Errorf("target group %s is there", groups[0].Name)
		}
		return errors.Join(err, goneIs(after), goneIs(before[vpn]))
	})
}

// production is a manifest as it is in production: a class by annotation, a path of nothing, and an action of an annotation.
func production(app *testbed.App, name, group, scheme, securityGroup, certificate string) *networkingv1.Ingress {
	out := newIngress(app, name, group, prefix+"scheme="+scheme, "kubernetes.io/ingress.class=alb", prefix+"security-groups="+securityGroup,
		prefix+`listen-ports=[{"HTTP": 80}, {"HTTPS": 443}]`, prefix+"certificate-arn="+certificate,
		prefix+`actions.app={"type": "forward", "forwardConfig": {"targetGroups": [{"serviceName": "`+app.Name+`", "servicePort": "80"}]}}`)
	out.Spec.IngressClassName = nil
	path := &out.Spec.Rules[0].HTTP.Paths[0]
	path.Path, path.PathType = "", ptr.To(networkingv1.PathTypeImplementationSpecific)
	path.Backend.Service.Name, path.Backend.Service.Port = "app", networkingv1.ServiceBackendPort{Name: "use-annotation"}
	return out
}

// awaitCertificate waits until it is the only one of the load balancer.
func awaitCertificate(t *testing.T, balancer, certificate string) {
	t.Helper()
	suite.Eventually(t, "the other certificate", func() error {
		found, ok := bed.AWS.ELB.BalancerNamed(balancer)
		if !ok {
			return errors.New("there is no load balancer")
		}
		listeners, err := bed.AWS.ELB.Listeners(found.ARN)
		for _, l := range listeners {
			if l.Port == 443 && slices.ContainsFunc(l.Certificates, func(arn string) bool { return arn != certificate }) {
				err = fmt.Errorf("the certificates are %q", l.Certificates)
			}
		}
		return err
	})
}

func goneIs(balancer string) error {
	if _, ok := bed.AWS.ELB.BalancerNamed(balancer); ok {
		return errors.New("load balancer " + balancer + " is there")
	}
	return nil
}
