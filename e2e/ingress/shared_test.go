//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"strings"
	"testing"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/suite"
)

// Rule 35: the security group that all load balancers share goes after the last Ingress, though targetgate was down as that was deleted;
// and though nothing is left but that group, with a rule of a binding that lets it in, as when a former process ended just before. An
// uninstall by the page waits for that.
func TestTheSharedSecurityGroupGoesThoughWeWereDown(t *testing.T) {
	app := newApp("last")
	app.Replicas = 1
	ingress, _, _ := serve(t, app, "target-type=ip")
	bed.Targetgate.Kill()
	suite.Must(t, bed.Client.Delete(t.Context(), ingress))
	suite.Must(t, bed.Targetgate.Restart(t.Context()))
	awaitEmpty(t)

	bed.Targetgate.Kill()
	shared, err := bed.AWS.EC2.CreateSecurityGroup("", ec2.SecurityGroupSpec{
		Name: "k8s-traffic-left", Description: "[k8s] Shared Backend SecurityGroup for LoadBalancer",
		Tags: map[string]string{"elbv2.k8s.aws/cluster": bed.ClusterName(), "elbv2.k8s.aws/resource": "backend-sg"},
	})
	suite.Must(t, err)
	suite.Must(t, bed.AWS.EC2.AuthorizeIngress("", bed.NodeSecurityGroup, []ec2.Permission{{
		Rule:        ec2.Rule{Protocol: "tcp", From: 8080, To: 8080, Source: ec2.Source{Group: shared.ID}},
		Description: "elbv2.k8s.aws/targetGroupBinding=shared",
	}}))
	suite.Must(t, bed.Targetgate.Restart(t.Context()))
	awaitEmpty(t)
}

// awaitEmpty waits until nothing in the account has the tag of a cluster.
func awaitEmpty(t *testing.T) {
	t.Helper()
	suite.Eventually(t, "an empty account", func() error {
		left, err := suite.MadeFor(bed.AWS)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("there is %s", strings.Join(left, "; "))
		}
		return err
	})
}
