// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package networking

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Without the rule no health check passes, and no gate opens.
func TestRulesLetTheLoadBalancerIn(t *testing.T) {
	app, source := newApp(t, "let-in")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	suite.Must(t, wantRules(source, ruleFrom(source, 8080)))
	suite.Eventually(t, "the status to say so", func() error { return wantNetworkingReady(t, app, metav1.ConditionTrue) })
	stop := bed.UnderLoad(t, app)
	suite.Must(t, bed.Roll(t.Context(), app, "2", nil))
	bed.AwaitRolled(t, app)
	stop()
	bed.DeleteBinding(t, app)
	bed.AwaitBindingGone(t, app)
	suite.Must(t, wantRules(source)) // before the finalizer, so that the load balancer's security group can be deleted
}

// A rule that someone removes by hand is there again within the drift interval.
func TestRemovedRuleComesBack(t *testing.T) {
	app, source := newApp(t, "drift")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	_, err := bed.AWS.EC2.RevokeIngress("", bed.NodeSecurityGroup, []ec2.Rule{ruleFrom(source, 8080)})
	suite.Must(t, err)
	suite.Eventually(t, "the rule to come back", func() error { return wantRules(source, ruleFrom(source, 8080)) })
}

// One binding names a security group that does not exist. Its own rule is refused, and no other binding notices.
func TestBadSecurityGroupHurtsItsBindingOnly(t *testing.T) {
	bad, _ := newApp(t, "bad-source")
	bad.Change = func(b *v1beta1.TargetGroupBinding) { b.Spec.Networking = networkingFrom("sg-0123456789abcdef0", 8080) }
	bed.Deploy(t, bad)
	good, source := newApp(t, "good-source")
	bed.Deploy(t, good)
	bed.AwaitRolled(t, good)
	suite.Must(t, wantRules(source, ruleFrom(source, 8080)))
	suite.Eventually(t, "the status to name the group", func() error { return wantNetworkingReady(t, bad, metav1.ConditionFalse) })
	suite.Eventually(t, "an event", func() error {
		return bed.WantEvent(t, bad, bad.Name, "Warning", "FailedNetworkReconcile")
	})
	suite.Eventually(t, "its targets to be registered all the same", func() error {
		return bed.WantThere(t, bad, suite.KeysOf(bed.Pods(t, bad), 8080))
	})
}

// The incumbent leaves a rule from the lowest to the highest port. Nothing is changed when targetgate takes over. The binding and its pods
// are there before it makes rules, as in a cluster that runs: one from our load balancer that nobody needs would be rightly removed.
func TestTakeOverOfRulesMakesNoCall(t *testing.T) {
	flags := bed.Targetgate.Flags()
	bed.WithFlags(t, append(flags, "--security-group-rules=false")...)
	app, source := newApp(t, "take-over")
	app.Change = func(b *v1beta1.TargetGroupBinding) { b.Spec.Networking = networkingFrom(source, 8080, 9090) }
	merged := ec2.Rule{Protocol: "tcp", From: 8080, To: 9090, Source: ec2.Source{Group: source}}
	suite.Must(t, bed.AWS.EC2.AuthorizeIngress("", bed.NodeSecurityGroup, []ec2.Permission{
		{Rule: merged, Description: "elbv2.k8s.aws/targetGroupBinding=shared"},
	}))
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	time.Sleep(lag) // reads of before are over
	since := time.Now()
	suite.Must(t, bed.Targetgate.RestartWith(t.Context(), flags...))
	suite.Eventually(t, "the status to name the rule", func() error {
		return wantNetworkingTold(t, app, "tcp 8080-9090 from "+source)
	})
	for _, call := range changesSince(since) {
		if slices.ContainsFunc(call.Rules, func(rule ec2.Rule) bool { return rule.Source.Group == source }) {
			t.Errorf("%s of %v, answer %d %s", call.Operation, call.Rules, call.Status, call.Code)
		}
	}
	suite.Must(t, wantRules(source, merged))
}
