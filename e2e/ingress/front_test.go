//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	emulated "github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/suite"
)

// awaitHosts are the names in the status of the Ingress, when they are so many.
func awaitHosts(t *testing.T, ingress *networkingv1.Ingress, count int) (hosts []string) {
	t.Helper()
	suite.Eventually(t, fmt.Sprintf("%d names in the status of Ingress %s", count, ingress.Name), func() error {
		suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(ingress), ingress))
		hosts = nil
		for _, entry := range ingress.Status.LoadBalancer.Ingress {
			hosts = append(hosts, entry.Hostname)
		}
		if len(hosts) != count {
			return fmt.Errorf("they are %q; %w", hosts, said(t, ingress, "no such event"))
		}
		return nil
	})
	return hosts
}

// A Network Load Balancer stands in front, is changed under load, and goes when nobody wants it.
func TestANetworkLoadBalancerInFront(t *testing.T) {
	t.Parallel()
	app := newApp("front")
	bed.Deploy(t, app)
	aws := bed.AWS
	for i, id := range []string{"eipalloc-0a", "eipalloc-0b"} {
		aws.ELB.PutAllocation(emulated.Allocation{ID: id, Address: netip.AddrFrom4([4]byte{203, 0, 113, byte(i)})})
	}
	given, err := aws.EC2.CreateSecurityGroup("", ec2.SecurityGroupSpec{Name: "front", Description: "made by Terraform"})
	suite.Must(t, err)
	suite.Must(t, aws.EC2.AuthorizeIngress("", given.ID, []ec2.Permission{{Rule: parseRule("tcp 1-65535 0.0.0.0/0")}}))
	ingress := newIngress(app.Name, []networkingv1.IngressRule{rule("front.example.com", "/ "+app.Name)},
		"target-type=ip", "scheme=internet-facing", "security-groups="+given.ID, "manage-backend-security-group-rules=true",
		"enable-frontend-nlb=true", "frontend-nlb-scheme=internet-facing", "frontend-nlb-eip-allocations=eipalloc-0a,eipalloc-0b", "frontend-nlb-subnets=subnet-0a000000000000001,subnet-0b000000000000002",
		"frontend-nlb-healthcheck-success-codes=404", "frontend-nlb-healthcheck-interval-seconds=10", "frontend-nlb-tags=team=edge",
		"frontend-nlb-attributes=load_balancing.cross_zone.enabled=true")
	create(t, ingress)
	hosts := awaitHosts(t, ingress, 2)
	if entry := ingress.Status.LoadBalancer.Ingress[1]; len(entry.Ports) > 0 {
		t.Errorf("the second entry of the status has ports: %+v", entry)
	}
	front, ok := aws.ELB.BalancerNamed(hosts[1])
	if !ok || front.Type != emulated.Network || !strings.HasSuffix(front.Name, "-nlb") || len(front.Allocations) != 2 {
		t.Fatalf("the second name is that of %+v", front)
	}
	tags, err := aws.ELB.Tags(front.ARN)
	suite.Must(t, err)
	if tags["team"] != "edge" || tags["ingress.k8s.aws/resource"] != "FrontendNlb" {
		t.Errorf("its tags are %v", tags)
	}
	suite.Eventually(t, "an answer through it", func() error { return answeredBy(t, app, hosts[1], "front.example.com", "/") })
	suite.Eventually(t, "no more to do", isQuiet)

	stop := underLoad(t, app, hosts[1], "front.example.com", "/")
	annotate(t, ingress, "frontend-nlb-healthcheck-interval-seconds=15")
	awaitFront(t, front.ARN, func(g emulated.Group) bool { return g.HealthCheck.Interval == 15 })
	annotate(t, ingress, "frontend-nlb-listener-port-mapping=80=80,8080=80")
	clients := &http.Client{Transport: resolver("front.example.com", hosts[1]).Transport(nil)}
	suite.Eventually(t, "an answer at another port", func() error {
		response, err := clients.Get("http://front.example.com:8080/")
		if err != nil {
			return err
		}
		if response.Body.Close(); response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	})
	annotate(t, ingress, "frontend-nlb-listener-port-mapping")
	suite.Eventually(t, "the other port to be closed", func() error {
		listeners, err := aws.ELB.Listeners(front.ARN)
		if err == nil && len(listeners) != 1 {
			err = fmt.Errorf("there are %d listeners", len(listeners))
		}
		return err
	})
	// Its target is replaced.
	annotate(t, ingress, "scheme=internal")
	suite.Eventually(t, "another load balancer behind it", func() error {
		if now := awaitHosts(t, ingress, 2); now[0] == hosts[0] || now[1] != hosts[1] {
			return fmt.Errorf("the names are %q", now)
		}
		return nil
	})
	suite.Eventually(t, "the former one to be gone", func() error { return isGone(hosts[0]) })
	stop()

	annotate(t, ingress, "enable-frontend-nlb")
	left := awaitHosts(t, ingress, 1)
	if left[0] == hosts[1] {
		t.Errorf("the name that is left is %s", left[0])
	}
	suite.Eventually(t, "it to be gone", func() error { return isGone(hosts[1]) })
	suite.Eventually(t, "an answer without it", func() error { return answeredBy(t, app, left[0], "front.example.com", "/") })
	annotate(t, ingress, "frontend-nlb-eip-allocations") // they are in use for minutes after that
	annotate(t, ingress, "enable-frontend-nlb=true")
	awaitHosts(t, ingress, 2)
	suite.Must(t, bed.Client.Delete(t.Context(), ingress.DeepCopy()))
	awaitGone(t, ingress, "front/front")
}

func isGone(host string) error {
	if _, ok := bed.AWS.ELB.BalancerNamed(host); ok {
		return errors.New("it is there")
	}
	return nil
}

// awaitFront waits until all target groups of the load balancer are so.
func awaitFront(t *testing.T, arn string, are func(emulated.Group) bool) {
	t.Helper()
	suite.Eventually(t, "the target groups in front", func() error {
		groups, err := bed.AWS.ELB.Groups(emulated.GroupFilter{LoadBalancer: arn})
		if err == nil && (len(groups) == 0 || slices.ContainsFunc(groups, func(g emulated.Group) bool { return !are(g) })) {
			err = fmt.Errorf("they are %+v", groups)
		}
		return err
	})
}

// Who wants DNS records for what stands in front alone gets its name alone, from the beginning.
func TestTheNameInFrontAlone(t *testing.T) {
	t.Parallel()
	app := newApp("alone")
	app.Replicas = 1
	bed.Deploy(t, app)
	ingress := newIngress(app.Name, []networkingv1.IngressRule{rule("alone.example.com", "/ "+app.Name)}, "target-type=ip", "enable-frontend-nlb=true")
	ingress.Annotations["targetgate.dev/frontend-nlb-alone"] = "true"
	create(t, ingress)
	host := awaitHost(t, ingress)
	if balancer, ok := bed.AWS.ELB.BalancerNamed(host); !ok || balancer.Type != emulated.Network {
		t.Errorf("the first name in the status is that of %+v", balancer)
	}
	suite.Eventually(t, "an answer", func() error { return answeredBy(t, app, host, "alone.example.com", "/") })
	suite.Must(t, bed.Client.Delete(t.Context(), ingress.DeepCopy()))
	awaitGone(t, ingress, "alone/alone")
}
