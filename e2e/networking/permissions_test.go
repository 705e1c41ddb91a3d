// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package networking

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/endpoints"
)

// The policy in config/iam grants nothing that is not needed: there is a call for each of its actions in the life of a pod on an EC2
// instance, of one on Fargate, and of a target group whose owner is asked for consent. That nothing else is needed is seen when the test
// bed is closed.
func TestEveryPermissionInAWSIsUsed(t *testing.T) {
	bed.WithFlags(t, append(bed.Targetgate.Flags(), "--target-group-consent=warn")...)
	onInstance, source := newApp(t, "permissions")
	bed.Deploy(t, onInstance)
	bed.AwaitRolled(t, onInstance)
	suite.Must(t, wantRules(source, ruleFrom(source, 8080)))
	bed.DeleteBinding(t, onInstance)
	liveOnFargate(t, "permissions-fargate")
	suite.Eventually(t, "each permission to be used", func() error {
		if unused := bed.UnusedGrants(); len(unused) > 0 {
			return fmt.Errorf("nothing needs %v", unused)
		}
		return nil
	})
}

// liveOnFargate has a pod on Fargate, whose network interface is found by its address, get its rule and lose it.
func liveOnFargate(t *testing.T, name string) {
	t.Helper()
	app, source := newApp(t, name)
	app.Replicas, app.Node = 1, fargateNode(t)
	app.Template = func(pod *corev1.PodTemplateSpec) {
		pod.Spec.Tolerations = []corev1.Toleration{{Key: endpoints.ComputeTypeLabel, Operator: corev1.TolerationOpExists}}
	}
	bed.Deploy(t, app)
	own := attachInterface(t, app)
	want := ruleFrom(source, 8080)
	hasRule := func() (bool, error) {
		group, err := bed.AWS.EC2.SecurityGroup(own)
		return slices.ContainsFunc(group.Ingress, func(p ec2.Permission) bool { return p.Rule == want }), err
	}
	suite.Eventually(t, "the rule to be in the pod's own security group", func() error {
		has, err := hasRule()
		if err == nil && !has {
			err = errors.New("it is not")
		}
		return err
	})
	bed.AwaitRolled(t, app)
	bed.DeleteBinding(t, app)
	if has, err := hasRule(); err != nil || has {
		t.Errorf("the rule is there still: %v, error %v", has, err)
	}
	suite.Must(t, wantRules(source)) // nor in that of the nodes
}

// fargateNode adds a node that only pods of the test are on, as EKS does for Fargate, until the end of the test.
func fargateNode(t *testing.T) (name string) {
	t.Helper()
	const fargate = "fargate"
	// A range that no test bed has: they begin with the lowest.
	node := kubelet.Node{Name: fargate, Zone: "eu-west-1a", PodCIDR: netip.MustParsePrefix("10.63.0.0/16")}
	suite.Must(t, bed.Kubelet.AddNode(t.Context(), node))
	t.Cleanup(func() { suite.Must(t, bed.Kubelet.RemoveNode(context.Background(), fargate)) })
	suite.Change(t, bed, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fargate}}, func(node *corev1.Node) {
		node.Labels[endpoints.ComputeTypeLabel] = fargate
		node.Spec.Taints = []corev1.Taint{{Key: endpoints.ComputeTypeLabel, Value: fargate, Effect: corev1.TaintEffectNoSchedule}}
	})
	return fargate
}

// attachInterface gives the app's only pod a network interface with a security group of its own, as soon as it has an address.
func attachInterface(t *testing.T, app *testbed.App) (securityGroup string) {
	t.Helper()
	group, err := bed.AWS.EC2.CreateSecurityGroup("", ec2.SecurityGroupSpec{Name: app.Name, Description: "of a pod"})
	suite.Must(t, err)
	suite.Eventually(t, "the pod to have an address", func() error {
		list := bed.Pods(t, app)
		if len(list) != 1 || list[0].Status.PodIP == "" {
			return fmt.Errorf("%d pods", len(list))
		}
		return bed.AWS.EC2.PutInterface(ec2.Interface{
			ID: "eni-0fa29a7e0fa29a7e0", Addresses: []netip.Addr{netip.MustParseAddr(list[0].Status.PodIP)}, Groups: []string{group.ID},
		})
	})
	return group.ID
}
