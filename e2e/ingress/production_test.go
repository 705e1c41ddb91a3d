//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/e2e/emulator/acm"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	emulated "github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/waf"
	"github.com/targetgate/targetgate/e2e/suite"
)

// A manifest as it is in production works unchanged: class by annotation, two groups side by side, security groups, certificate and web
// ACL that are given, an action of an annotation without a path, health checks that the Service says.
func TestProductionManifest(t *testing.T) {
	t.Parallel()
	app := newApp("production")
	app.Replicas = 1
	app.Service = func(s *corev1.Service) {
		s.Annotations = map[string]string{
			prefix + "healthcheck-path": "/healthz", prefix + "healthcheck-interval-seconds": "30", prefix + "healthcheck-timeout-seconds": "5",
		}
	}
	bed.Deploy(t, app)
	aws := bed.AWS
	certificate, err := aws.ACM.Add("", acm.Spec{Domains: []string{"app.example.com"}})
	suite.Must(t, err)
	acl := aws.WAF.Add("", "public", waf.ScopeRegional)
	given := addSecurityGroup(t, app.Name)
	manifest := func(group, scheme string, more ...string) *networkingv1.Ingress {
		path := networkingv1.HTTPIngressPath{PathType: ptr.To(networkingv1.PathTypeImplementationSpecific), Backend: backend("app", 0)}
		path.Backend.Service.Port = networkingv1.ServiceBackendPort{Name: "use-annotation"}
		out := newIngress("production-"+group, []networkingv1.IngressRule{{
			Host: "app.example.com",
			IngressRuleValue: networkingv1.IngressRuleValue{
				HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{path}},
			},
		}}, append(more, "group.name=production-"+group, "scheme="+scheme, "target-type=ip", `listen-ports=[{"HTTP": 80}, {"HTTPS": 443}]`,
			"security-groups="+given, "certificate-arn="+certificate.ARN,
			"load-balancer-attributes=access_logs.s3.enabled=true,access_logs.s3.bucket=logs",
			`actions.app={"type": "forward", "forwardConfig": {"targetGroups": [{"serviceName": "production", "servicePort": "80"}]}}`)...)
		out.Namespace, out.Spec.IngressClassName = app.Name, nil
		out.Annotations["kubernetes.io/ingress.class"] = "alb"
		create(t, out)
		return out
	}
	public, vpn := manifest("public", "internet-facing", "wafv2-acl-arn="+acl.ARN), manifest("vpn", "internal")
	for ingress, begin := range map[*networkingv1.Ingress]string{public: "k8s-productionpublic-", vpn: "internal-k8s-productionvpn-"} {
		host := awaitHost(t, ingress)
		if !strings.HasPrefix(host, begin) {
			t.Errorf("%s has the load balancer %s, want %s...", ingress.Name, host, begin)
		}
		suite.Eventually(t, "answers over HTTP", func() error { return answeredBy(t, app, host, "app.example.com", "/any") })
		suite.Eventually(t, "answers over HTTPS", func() error { return answersOverTLS(host, "app.example.com", certificate) })
		balancer, _ := aws.ELB.BalancerNamed(host)
		attributes, err := aws.ELB.BalancerAttributes(balancer.ARN, nil)
		suite.Must(t, err)
		if attributes["access_logs.s3.bucket"] != "logs" || len(balancer.SecurityGroups) != 1 || balancer.SecurityGroups[0] != given {
			t.Errorf("%s has attributes %v and security groups %v", host, attributes, balancer.SecurityGroups)
		}
		suite.Eventually(t, "the web ACL", func() error {
			found, has, err := aws.WAF.Of("", balancer.ARN)
			if err == nil && (has != (ingress == public) || has && found.ARN != acl.ARN) {
				err = fmt.Errorf("%s has %q", host, found.ARN)
			}
			return err
		})
		groups, err := aws.ELB.Groups(emulated.GroupFilter{LoadBalancer: balancer.ARN})
		suite.Must(t, err)
		if len(groups) != 1 || groups[0].HealthCheck.Path != "/healthz" || groups[0].HealthCheck.Interval != 30 {
			t.Errorf("%s has the target groups %+v, want the health check that the Service says", host, groups)
		}
	}
	for _, ingress := range []*networkingv1.Ingress{public, vpn} {
		suite.Must(t, bed.Client.Delete(t.Context(), ingress.DeepCopy()))
		awaitGone(t, ingress, ingress.Annotations[prefix+"group.name"])
	}
	if _, err := aws.EC2.DescribeSecurityGroups("", given); err != nil {
		t.Errorf("the security group that was given is gone: %v", err)
	}
}

// addSecurityGroup makes a security group for load balancers, as Terraform does, and lets it send to pods.
func addSecurityGroup(t *testing.T, name string) (id string) {
	t.Helper()
	aws := bed.AWS
	group, err := aws.EC2.CreateSecurityGroup("", ec2.SecurityGroupSpec{Name: name, Description: "made by Terraform"})
	suite.Must(t, err)
	suite.Must(t, aws.EC2.AuthorizeIngress("", group.ID, []ec2.Permission{
		{Rule: parseRule("tcp 80-80 0.0.0.0/0")}, {Rule: parseRule("tcp 443-443 0.0.0.0/0")},
	}))
	suite.Must(t, aws.EC2.AuthorizeIngress("", bed.NodeSecurityGroup, []ec2.Permission{{Rule: parseRule("tcp 8080-8080 " + group.ID)}}))
	return group.ID
}

func answersOverTLS(balancer, host string, certificate acm.Certificate) error {
	parsed, err := x509.ParseCertificate(certificate.Pair.Certificate[0])
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	transport := resolver(host, balancer).Transport(roots)
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get("https://" + host + "/")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("answered with %s", response.Status)
	}
	return nil
}
