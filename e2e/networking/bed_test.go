// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package networking

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/targetgate/targetgate/e2e/emulator"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// bed is what all tests of the package run on.
var bed = &suite.Bed{}

// lag is how old what EC2 shows is at most. It is not ten times shorter than AWS's, as targetgate's own times are not.
const lag = 2 * time.Second

func TestMain(m *testing.M) {
	bed.Main(m, testbed.Options{
		Scale: suite.Scale, SecurityGroups: true, EC2Lag: &region.Range{Max: time.Duration(float64(lag) / suite.Scale)},
		Args: []string{"--drift-interval=10s"},
	})
}

// newApp is an app whose binding asks for the pods' port from the security group of its load balancer, which is returned, too.
func newApp(t *testing.T, name string) (app *testbed.App, source string) {
	t.Helper()
	source = newSource(t, bed.ClusterName(), name)
	app = suite.NewApp(name)
	app.Balancer = func(s *emulator.Service) { s.SecurityGroups = []string{source} }
	app.Change = func(b *v1beta1.TargetGroupBinding) { b.Spec.Networking = networkingFrom(source, 8080) }
	return app, source
}

// newSource makes a security group for a load balancer of a cluster, as the incumbent makes its backend security group.
func newSource(t *testing.T, cluster, name string) string {
	t.Helper()
	group, err := bed.AWS.EC2.CreateSecurityGroup("", ec2.SecurityGroupSpec{
		Name: "k8s-traffic-" + name, Description: "[k8s] Shared Backend SecurityGroup for LoadBalancer",
		Tags: map[string]string{"elbv2.k8s.aws/cluster": cluster, "elbv2.k8s.aws/resource": "backend-sg"},
	})
	suite.Must(t, err)
	return group.ID
}

func networkingFrom(source string, ports ...int32) *v1beta1.TargetGroupBindingNetworking {
	rule := v1beta1.NetworkingIngressRule{
		From: []v1beta1.NetworkingPeer{{SecurityGroup: &v1beta1.SecurityGroup{GroupID: source}}},
	}
	for _, port := range ports {
		number := intstr.FromInt32(port)
		rule.Ports = append(rule.Ports, v1beta1.NetworkingPort{Port: &number})
	}
	return &v1beta1.TargetGroupBindingNetworking{Ingress: []v1beta1.NetworkingIngressRule{rule}}
}

// ruleFrom is the rule for one port.
func ruleFrom(source string, port int) ec2.Rule {
	return ec2.Rule{Protocol: "tcp", From: port, To: port, Source: ec2.Source{Group: source}}
}

// rulesFrom are the rules of the nodes' security group with that source, as they are now.
func rulesFrom(source string) (out []ec2.Rule, err error) {
	group, err := bed.AWS.EC2.SecurityGroup(bed.NodeSecurityGroup)
	for _, p := range group.Ingress {
		if p.Source.Group == source {
			out = append(out, p.Rule)
		}
	}
	return out, err
}

// changesSoFar is the position for neverRemoved of what comes now.
func changesSoFar() int { return len(bed.AWS.EC2.RuleChanges(0)) }

// neverRemoved is an error when one of the rules was removed from the nodes' security group, from that position on, for however short.
func neverRemoved(since int, rules ...ec2.Rule) error {
	for _, change := range bed.AWS.EC2.RuleChanges(since) {
		if change.Removed && change.Group == bed.NodeSecurityGroup && slices.Contains(rules, change.Rule) {
			return fmt.Errorf("%s was removed at %s", change.Rule, change.Time)
		}
	}
	return nil
}

// wantRules is an error when the nodes' security group has other rules with that source.
func wantRules(source string, want ...ec2.Rule) error {
	got, err := rulesFrom(source)
	if err == nil && !slices.Equal(got, want) {
		err = fmt.Errorf("rules from %s: %v, want %v", source, got, want)
	}
	return err
}

func wantNetworkingReady(t *testing.T, app *testbed.App, want metav1.ConditionStatus) error {
	t.Helper()
	c, err := networkingReady(t, app)
	if err == nil && c.Status != want {
		err = fmt.Errorf("NetworkingReady is %s, want %s: %s", c.Status, want, c.Message)
	}
	return err
}

// wantNetworkingTold is an error when the status does not say that all is there, and name this.
func wantNetworkingTold(t *testing.T, app *testbed.App, text string) error {
	t.Helper()
	c, err := networkingReady(t, app)
	if err == nil && (c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, text)) {
		err = fmt.Errorf("NetworkingReady is %s: %s, want it True with %q", c.Status, c.Message, text)
	}
	return err
}

func networkingReady(t *testing.T, app *testbed.App) (*metav1.Condition, error) {
	t.Helper()
	c := apimeta.FindStatusCondition(bed.GetBinding(t, app).Status.Conditions, v1beta1.ConditionNetworkingReady)
	if c == nil {
		return nil, errors.New("there is no condition NetworkingReady")
	}
	return c, nil
}

// changesSince are the calls that changed security groups.
func changesSince(since time.Time) (out []wire.Call) {
	for _, call := range bed.AWS.Calls(0) {
		changes := call.Operation == "AuthorizeSecurityGroupIngress" || call.Operation == "RevokeSecurityGroupIngress"
		if changes && !call.Received.Before(since) {
			out = append(out, call)
		}
	}
	return out
}
