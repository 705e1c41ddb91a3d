// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/e2e/emulator"
	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

func TestLaunch(t *testing.T) {
	const id = "i-0123456789abc0001"
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1", Labels: map[string]string{corev1.LabelTopologyZone: "eu-west-1a"}},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///eu-west-1a/" + id, PodCIDR: "10.32.0.0/16"},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.32.0.1"}}},
	}
	for name, tc := range map[string]struct {
		on      bool
		wantVPC string
	}{
		"with security groups":    {true, ec2.DefaultVPCID},
		"without security groups": {false, otherVPC},
	} {
		t.Run(name, func(t *testing.T) {
			aws, err := emulator.Start(t.Context(), emulator.Options{Cloud: cloud.Options{EC2: ec2.Options{Lag: &region.Range{}}}})
			if err != nil {
				t.Fatal(err)
			}
			defer aws.Close()
			bed := &Bed{AWS: aws, options: Options{SecurityGroups: tc.on}}
			if tc.on {
				if err := bed.createNodeSecurityGroup(); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if err := bed.launch(node); err != nil {
					t.Fatal(err)
				}
			}
			if got := bed.vpc(); got != tc.wantVPC {
				t.Errorf("targetgate is told VPC %s, want %s", got, tc.wantVPC)
			}
			group, _, err := aws.CreateService("web", emulator.Service{})
			if err != nil {
				t.Fatal(err)
			}
			in := aws.ELB.Inbound(group, state.Target{Key: state.Key{ID: "10.32.7.7", Port: 8080}, Address: "10.32.7.7"})
			if in.Enforced != tc.on {
				t.Errorf("enforced for a pod: %v, want %v", in.Enforced, tc.on)
			}
			found, err := aws.EC2.DescribeInstances("", id)
			if err != nil {
				t.Fatal(err)
			}
			var groups []string
			for _, i := range found[0].Interfaces {
				groups = append(groups, i.ID+" "+i.Groups[0])
			}
			var want []string
			if tc.on {
				want = []string{InterfaceOf(id) + " " + bed.NodeSecurityGroup}
			}
			if diff := cmp.Diff(want, groups); diff != "" {
				t.Errorf("interfaces and their groups (-want +got):\n%s", diff)
			}
		})
	}
}
