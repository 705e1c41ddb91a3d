// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package networking

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const otherCluster = "till"

// Two clusters, each with API server, nodes and targetgate of its own, have one security group on all nodes. Two rules are asked for by
// bindings of both: the one first by ours, the other first by theirs. Each is there once, and nothing on it tells who needs it.
func TestTwoClustersShareTheNodesSecurityGroup(t *testing.T) {
	other := bed.StartOtherCluster(t, otherCluster)
	t.Run("with the tags of both", func(t *testing.T) {
		tagNodes(t, otherCluster)
		shareRules(t, "tags", bed, other)
	})
	t.Run("with our tag alone", func(t *testing.T) { shareRules(t, "tag", other, bed) })
}

// shareRules has both clusters ask for rules, restarts their targetgates in that order, and deletes first the bindings that have asked
// first, then the others.
func shareRules(t *testing.T, name string, beds ...*suite.Bed) {
	t.Helper()
	since := changesSoFar()
	var shared, needed []ec2.Rule
	var first, second []side
	for i, in := range beds {
		shared = append(shared, ec2.Rule{Protocol: "tcp", From: 8080, To: 8080, Source: ec2.Source{CIDR: documentation(name, i)}})
		first = append(first, deployIn(t, in, fmt.Sprintf("%s-first-%d", name, i), shared[i]))
	}
	for i, in := range []*suite.Bed{beds[1], beds[0]} {
		second = append(second, deployIn(t, in, fmt.Sprintf("%s-second-%d", name, i), shared[i]))
	}
	for _, s := range slices.Concat(first, second) {
		needed = append(needed, s.own)
		suite.Must(t, wantRules(s.source, s.own))
	}
	suite.Must(t, errors.Join(wantRule(shared[0]), wantRule(shared[1])))
	restart(t, beds...)
	suite.Must(t, neverRemoved(since, append(needed, shared...)...))

	leave(t, first)
	awaitReads(t, beds...)
	suite.Must(t, neverRemoved(since, append(shared, second[0].own, second[1].own)...))
	for _, s := range second {
		s.in.AwaitConverged(t, s.app)
	}
	leave(t, second)
	for _, rule := range shared { // those that are left are for people to remove
		_, _ = bed.AWS.EC2.RevokeIngress("", bed.NodeSecurityGroup, []ec2.Rule{rule})
	}
}

// documentation is an address that nobody has, for each name and number another.
func documentation(name string, n int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(2*len(name) + n)}), 32)
}

// leave deletes the bindings, whose own rules go before that is done.
func leave(t *testing.T, sides []side) {
	t.Helper()
	for _, s := range sides {
		s.in.DeleteBinding(t, s.app)
		suite.Must(t, wantRules(s.source))
	}
}

// side is what one of the clusters has.
type side struct {
	in     *suite.Bed
	app    *testbed.App
	source string   // the security group of its load balancer
	own    ec2.Rule // from there
}

// deployIn deploys an app whose binding asks for a rule from its own load balancer, and for the shared one.
func deployIn(t *testing.T, in *suite.Bed, name string, shared ec2.Rule) side {
	t.Helper()
	s := side{in: in, app: suite.NewApp(name), source: newSource(t, in.ClusterName(), name)}
	s.own = ruleFrom(s.source, 8080)
	s.app.Replicas = 1
	s.app.Balancer = func(b *emulator.Service) { b.SecurityGroups = []string{s.source} }
	s.app.Change = func(b *v1beta1.TargetGroupBinding) {
		b.Spec.Networking = networkingFrom(s.source, 8080)
		peer := v1beta1.NetworkingPeer{IPBlock: &v1beta1.IPBlock{CIDR: shared.Source.CIDR.String()}}
		rule := &b.Spec.Networking.Ingress[0]
		rule.From = append(rule.From, peer)
	}
	in.Deploy(t, s.app)
	in.AwaitRolled(t, s.app)
	return s
}

// tagNodes gives the nodes' security group the tag of another cluster until the end of the test.
func tagNodes(t *testing.T, cluster string) {
	t.Helper()
	key := "kubernetes.io/cluster/" + cluster
	suite.Must(t, bed.AWS.EC2.TagSecurityGroup(bed.NodeSecurityGroup, map[string]string{key: "shared"}))
	t.Cleanup(func() { suite.Must(t, bed.AWS.EC2.UntagSecurityGroup(bed.NodeSecurityGroup, key)) })
	time.Sleep(lag) // reads of before are over
}

// restart kills the targetgates, starts them in this order, and waits until they have looked at the security group.
func restart(t *testing.T, beds ...*suite.Bed) {
	t.Helper()
	for _, b := range beds {
		b.Targetgate.Kill()
	}
	for _, b := range beds {
		suite.Must(t, b.Targetgate.Restart(t.Context()))
	}
	awaitReads(t, beds...)
}

// awaitReads waits until each targetgate has read the nodes' security group twice from now on: at the second time at the latest it knew
// all bindings.
func awaitReads(t *testing.T, beds ...*suite.Bed) {
	t.Helper()
	since := time.Now()
	suite.Eventually(t, "the targetgates to read the security group", func() error {
		reads := map[string]int{}
		for _, call := range bed.AWS.Calls(0) {
			read := call.Operation == "DescribeSecurityGroups" && slices.Contains(call.SecurityGroups, bed.NodeSecurityGroup)
			if read && call.Received.After(since) {
				reads[call.Principal]++
			}
		}
		for _, b := range beds {
			if n := reads[b.AccessKey()]; n < 2 {
				return fmt.Errorf("%s has read it %d times", b.AccessKey(), n)
			}
		}
		return nil
	})
}

// wantRule is an error when the nodes' security group does not have the rule.
func wantRule(rule ec2.Rule) error {
	group, err := bed.AWS.EC2.SecurityGroup(bed.NodeSecurityGroup)
	if err == nil && !slices.ContainsFunc(group.Ingress, func(p ec2.Permission) bool { return p.Rule == rule }) {
		err = fmt.Errorf("there is no rule %s", rule)
	}
	return err
}
