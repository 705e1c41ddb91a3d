// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
)

func TestCreateLoadBalancerCodes(t *testing.T) {
	b := newELBBed(t)
	b.balancer("lb")
	tags := func(keys ...string) []types.Tag {
		list := []types.Tag{}
		for _, key := range keys {
			list = append(list, types.Tag{Key: &key, Value: aws.String("x")})
		}
		return list
	}
	var many []string
	for n := range 51 {
		many = append(many, fmt.Sprint("k", n))
	}
	for name, tc := range map[string]struct {
		change func(*elb.CreateLoadBalancerInput)
		want   string
	}{
		"other settings under the same name": {func(in *elb.CreateLoadBalancerInput) { in.Name, in.Scheme = aws.String("lb"), "internal" }, "DuplicateLoadBalancerName"},
		"a scheme that is not there":         {func(in *elb.CreateLoadBalancerInput) { in.Scheme = "public" }, "InvalidScheme"},
		"a subnet that is not there":         {func(in *elb.CreateLoadBalancerInput) { in.Subnets = []string{bothZones[0], "subnet-1"} }, "SubnetNotFound"},
		"two subnets of one zone": {func(in *elb.CreateLoadBalancerInput) {
			in.Subnets = []string{bothZones[0], "subnet-0a000000000000006"}
		}, "InvalidConfigurationRequest"},
		"one subnet":                         {func(in *elb.CreateLoadBalancerInput) { in.Subnets = bothZones[:1] }, "ValidationError"},
		"a security group that is not there": {func(in *elb.CreateLoadBalancerInput) { in.SecurityGroups = []string{"sg-00000000"} }, "InvalidSecurityGroup"},
		"six security groups":                {func(in *elb.CreateLoadBalancerInput) { in.SecurityGroups = many[:6] }, "InvalidConfigurationRequest"},
		"a name that is too long":            {func(in *elb.CreateLoadBalancerInput) { in.Name = aws.String("a23456789012345678901234567890123") }, "ValidationError"},
		"a tag twice":                        {func(in *elb.CreateLoadBalancerInput) { in.Tags = tags("a", "a") }, "DuplicateTagKeys"},
		"51 tags":                            {func(in *elb.CreateLoadBalancerInput) { in.Tags = tags(many...) }, "TooManyTags"},
		"an address type of the public alone": {func(in *elb.CreateLoadBalancerInput) {
			in.Scheme, in.IpAddressType = "internal", "dualstack-without-public-ipv4"
		}, "InvalidConfigurationRequest"},
	} {
		t.Run(name, func(t *testing.T) {
			in := &elb.CreateLoadBalancerInput{Name: aws.String("next"), Subnets: bothZones}
			tc.change(in)
			_, err := b.elb.CreateLoadBalancer(ctx(t), in)
			wantCode(t, err, tc.want)
		})
	}
	b.balancer("second")
	_, err := b.elb.CreateLoadBalancer(ctx(t), &elb.CreateLoadBalancerInput{Name: aws.String("third"), Subnets: bothZones})
	wantCode(t, err, "TooManyLoadBalancers")
}

func TestSettingCodes(t *testing.T) {
	b := newELBBed(t)
	lb := b.balancer("lb")
	front, err := b.cloud.EC2.CreateSecurityGroup("", ec2.SecurityGroupSpec{Name: "front"})
	if err != nil {
		t.Fatal(err)
	}
	subnets := func(lb string, ids ...string) error {
		_, err := b.elb.SetSubnets(ctx(t), &elb.SetSubnetsInput{LoadBalancerArn: &lb, Subnets: ids})
		return err
	}
	groups := func(lb string, ids ...string) error {
		_, err := b.elb.SetSecurityGroups(ctx(t), &elb.SetSecurityGroupsInput{LoadBalancerArn: &lb, SecurityGroups: ids})
		return err
	}
	addresses := func(lb string, kind types.IpAddressType) error {
		_, err := b.elb.SetIpAddressType(ctx(t), &elb.SetIpAddressTypeInput{LoadBalancerArn: &lb, IpAddressType: kind})
		return err
	}
	wantCode(t, subnets(lb, bothZones[0], "subnet-0c000000000000003"), "")
	wantCode(t, subnets(lb, bothZones[0], "subnet-1"), "SubnetNotFound")
	wantCode(t, subnets(lb, bothZones[0], bothZones[0]), "InvalidConfigurationRequest")
	wantCode(t, subnets(lb+"x", bothZones...), "LoadBalancerNotFound")
	wantCode(t, groups(lb, front.ID), "")
	wantCode(t, groups(lb, "sg-00000000"), "InvalidSecurityGroup")
	wantCode(t, groups(lb+"x", front.ID), "LoadBalancerNotFound")
	wantCode(t, addresses(lb, "dualstack"), "")
	wantCode(t, addresses(lb, "ipv9"), "ValidationError")
	wantCode(t, addresses(lb+"x", "ipv4"), "LoadBalancerNotFound")
	in := &elb.DescribeLoadBalancersInput{LoadBalancerArns: []string{lb}}
	got := must[*elb.DescribeLoadBalancersOutput](t)(b.elb.DescribeLoadBalancers(ctx(t), in)).LoadBalancers[0]
	if got.IpAddressType != "dualstack" || len(got.SecurityGroups) != 1 || *got.AvailabilityZones[1].SubnetId != "subnet-0c000000000000003" {
		t.Errorf("load balancer is %+v", got)
	}
}

func TestListenerCodes(t *testing.T) {
	b := newELBBed(t)
	lb, other := b.balancer("lb"), b.balancer("other")
	one, two, three, four := b.createGroup("one"), b.createGroup("two"), b.createGroup("three"), b.createGroup("four")
	listener := b.listener(lb, 80, forward(one))
	full := b.createGroup("full")
	wantCode(t, b.register(full, "10.0.0.1", "10.0.0.2"), "")
	wantCode(t, b.register(one, "10.0.0.1"), "")
	tls := func(policy string, arns ...string) func(*elb.CreateListenerInput) {
		return func(in *elb.CreateListenerInput) {
			in.Protocol, in.SslPolicy = "HTTPS", &policy
			for _, arn := range arns {
				in.Certificates = append(in.Certificates, types.Certificate{CertificateArn: &arn})
			}
		}
	}
	const policy = "ELBSecurityPolicy-TLS13-1-2-2021-06"
	action := func(a ...types.Action) func(*elb.CreateListenerInput) {
		return func(in *elb.CreateListenerInput) { in.DefaultActions = a }
	}
	h2 := *must[*elb.CreateTargetGroupOutput](t)(b.elb.CreateTargetGroup(ctx(t), &elb.CreateTargetGroupInput{
		Name: aws.String("h2"), Protocol: "HTTP", Port: aws.Int32(80), VpcId: aws.String(ec2.DefaultVPCID), ProtocolVersion: aws.String("HTTP2"),
	})).TargetGroups[0].TargetGroupArn
	loop := types.Action{Type: "redirect", RedirectConfig: &types.RedirectActionConfig{StatusCode: "HTTP_301"}}
	for name, tc := range map[string]struct {
		change func(*elb.CreateListenerInput)
		want   string
	}{
		"a port that is taken":         {func(in *elb.CreateListenerInput) { in.Port = aws.Int32(80) }, "DuplicateListener"},
		"no load balancer":             {func(in *elb.CreateListenerInput) { in.LoadBalancerArn = aws.String(lb + "x") }, "LoadBalancerNotFound"},
		"a protocol of the other type": {func(in *elb.CreateListenerInput) { in.Protocol = "TCP" }, "UnsupportedProtocol"},
		"no such certificate":          {tls(policy, certificate+"x"), "CertificateNotFound"},
		"two default certificates":     {tls(policy, certificate, certificate+"1"), "TooManyCertificates"},
		"a certificate of no form":     {tls(policy, "certificate"), "ValidationError"},
		"no such policy":               {tls("Mine", certificate), "SSLPolicyNotFound"},
		"HTTPS without a certificate":  {tls(policy), "ValidationError"},
		"no such group":                {action(forward(one + "x")), "TargetGroupNotFound"},
		"two actions":                  {action(fixed("404"), fixed("404")), "TooManyActions"},
		"an unknown action":            {action(types.Action{Type: "dance"}), "InvalidLoadBalancerAction"},
		"three groups in an action":    {action(forward(one, two, three)), "InvalidLoadBalancerAction"},
		"a group twice in an action":   {action(forward(one, one)), "InvalidLoadBalancerAction"},
		"a redirect to itself":         {action(loop), "InvalidLoadBalancerAction"},
		"HTTP to a group of HTTP/2":    {action(forward(h2)), "InvalidLoadBalancerAction"},
		"another one's group": {func(in *elb.CreateListenerInput) {
			in.LoadBalancerArn, in.DefaultActions = &other, []types.Action{forward(one)}
		}, "TargetGroupAssociationLimit"},
		"too many targets":      {action(forward(full)), "TooManyTargets"},
		"a status that is none": {action(fixed("600")), "ValidationError"},
		"a trust store": {func(in *elb.CreateListenerInput) {
			tls(policy, certificate)(in)
			in.MutualAuthentication = &types.MutualAuthenticationAttributes{Mode: aws.String("verify")}
		}, "TrustStoreNotFound"},
	} {
		t.Run(name, func(t *testing.T) {
			in := &elb.CreateListenerInput{LoadBalancerArn: &lb, Port: aws.Int32(90), Protocol: "HTTP", DefaultActions: []types.Action{fixed("404")}}
			tc.change(in)
			_, err := b.elb.CreateListener(ctx(t), in)
			wantCode(t, err, tc.want)
		})
	}
	modify := func(arn string, port int32, a types.Action) error {
		_, err := b.elb.ModifyListener(ctx(t), &elb.ModifyListenerInput{ListenerArn: &arn, Port: &port, DefaultActions: []types.Action{a}})
		return err
	}
	b.listener(lb, 81, forward(two))
	wantCode(t, modify(listener, 81, fixed("404")), "DuplicateListener")
	wantCode(t, modify(listener+"x", 82, fixed("404")), "ListenerNotFound")
	b.listener(lb, 82, forward(three))
	wantCode(t, modify(listener, 80, forward(four)), "TooManyUniqueTargetGroupsPerLoadBalancer")
	_, err := b.elb.CreateListener(ctx(t), &elb.CreateListenerInput{
		LoadBalancerArn: &lb, Port: aws.Int32(83), Protocol: "HTTP", DefaultActions: []types.Action{fixed("404")},
	})
	wantCode(t, err, "TooManyListeners")
	_, err = b.elb.ModifyListenerAttributes(ctx(t), &elb.ModifyListenerAttributesInput{
		ListenerArn: &listener, Attributes: []types.ListenerAttribute{{Key: aws.String("x"), Value: aws.String("y")}},
	})
	wantCode(t, err, "ValidationError")
	_, err = b.elb.AddListenerCertificates(ctx(t), &elb.AddListenerCertificatesInput{
		ListenerArn: &listener, Certificates: []types.Certificate{{CertificateArn: aws.String(certificate)}},
	})
	wantCode(t, err, "OperationNotPermitted")
}

// TestNothingRedirectsHTTPSToHTTP has neither a listener nor a rule do so, and others do.
func TestNothingRedirectsHTTPSToHTTP(t *testing.T) {
	const refused = "InvalidLoadBalancerAction"
	b := newELBBed(t)
	lb := b.balancer("lb")
	to := func(protocol string) types.Action {
		return types.Action{Type: "redirect", RedirectConfig: &types.RedirectActionConfig{
			Protocol: &protocol, Host: aws.String("a.example"), StatusCode: "HTTP_301",
		}}
	}
	secure := func(a types.Action) (*elb.CreateListenerOutput, error) {
		return b.elb.CreateListener(ctx(t), &elb.CreateListenerInput{
			LoadBalancerArn: &lb, Port: aws.Int32(443), Protocol: "HTTPS", DefaultActions: []types.Action{a},
			Certificates: []types.Certificate{{CertificateArn: aws.String(certificate)}},
		})
	}
	create := func(listener string, priority int, a types.Action) error {
		_, err := b.elb.CreateRule(ctx(t), ruleOf(listener, priority, "/", a))
		return err
	}
	change := func(rule string, a types.Action) error {
		_, err := b.elb.ModifyRule(ctx(t), &elb.ModifyRuleInput{RuleArn: &rule, Actions: []types.Action{a}})
		return err
	}
	_, err := secure(to("HTTP"))
	wantCode(t, err, refused)
	https := *must[*elb.CreateListenerOutput](t)(secure(to("#{protocol}"))).Listeners[0].ListenerArn
	_, err = b.elb.ModifyListener(ctx(t), &elb.ModifyListenerInput{ListenerArn: &https, DefaultActions: []types.Action{to("HTTP")}})
	wantCode(t, err, refused)
	rule := b.rule(https, 1, "/", to("HTTPS"))
	wantCode(t, change(rule, to("HTTP")), refused)
	wantCode(t, create(https, 2, to("HTTP")), refused)
	http := b.listener(lb, 80, to("HTTP"))
	wantCode(t, create(http, 1, to("HTTP")), "")
	_, err = b.elb.ModifyListener(ctx(t), &elb.ModifyListenerInput{
		ListenerArn: &http, Protocol: "HTTPS", DefaultActions: []types.Action{fixed("404")},
		Certificates: []types.Certificate{{CertificateArn: aws.String(certificate)}},
	})
	wantCode(t, err, refused)
}

func TestRuleCodes(t *testing.T) {
	b := newELBBed(t)
	lb, other := b.balancer("lb"), b.balancer("other")
	one, foreign := b.createGroup("one"), b.createGroup("foreign")
	b.listener(other, 80, forward(foreign))
	listener := b.listener(lb, 80, forward(one))
	first := b.rule(listener, 1, "/1", forward(one))
	standard := *b.rules(listener)[1].RuleArn
	values := func(field string, values ...string) func(*elb.CreateRuleInput) {
		return func(in *elb.CreateRuleInput) {
			in.Conditions = []types.RuleCondition{{Field: &field, Values: values}}
		}
	}
	header := func(name, value string) func(*elb.CreateRuleInput) {
		return func(in *elb.CreateRuleInput) {
			in.Conditions = []types.RuleCondition{{Field: aws.String("http-header"), HttpHeaderConfig: &types.HttpHeaderConditionConfig{
				HttpHeaderName: &name, Values: []string{value},
			}}}
		}
	}
	to := func(change func(*types.RedirectActionConfig)) func(*elb.CreateRuleInput) {
		return func(in *elb.CreateRuleInput) {
			config := &types.RedirectActionConfig{StatusCode: "HTTP_301"}
			change(config)
			in.Actions = []types.Action{{Type: "redirect", RedirectConfig: config}}
		}
	}
	for name, tc := range map[string]struct {
		change func(*elb.CreateRuleInput)
		want   string
	}{
		"a priority that is taken":    {func(in *elb.CreateRuleInput) { in.Priority = aws.Int32(1) }, "PriorityInUse"},
		"a priority that is too high": {func(in *elb.CreateRuleInput) { in.Priority = aws.Int32(50001) }, "ValidationError"},
		"no listener":                 {func(in *elb.CreateRuleInput) { in.ListenerArn = aws.String(listener + "x") }, "ListenerNotFound"},
		"no such group":               {func(in *elb.CreateRuleInput) { in.Actions = []types.Action{forward(one + "x")} }, "TargetGroupNotFound"},
		"another one's group":         {func(in *elb.CreateRuleInput) { in.Actions = []types.Action{forward(foreign)} }, "TargetGroupAssociationLimit"},
		"a group without a weight":    {func(in *elb.CreateRuleInput) { in.Actions = []types.Action{forward()} }, "InvalidLoadBalancerAction"},
		"an unknown field":            {values("cookie", "a"), "ValidationError"},
		"six values":                  {values("path-pattern", "/1", "/2", "/3", "/4", "/5", "/6"), "ValidationError"},
		"six wildcards":               {values("path-pattern", "/******"), "ValidationError"},
		"a host with a slash":         {values("host-header", "a/b"), "ValidationError"},
		"a host without a dot":        {values("host-header", "localhost"), "ValidationError"},
		"a long path to go to":        {to(func(c *types.RedirectActionConfig) { c.Path = aws.String("/" + strings.Repeat("a", 128)) }), "ValidationError"},
		"a long host to go to":        {to(func(c *types.RedirectActionConfig) { c.Host = aws.String(strings.Repeat("a", 129)) }), "ValidationError"},
		"a header of 41 characters":   {header(strings.Repeat("a", 41), "a"), "ValidationError"},
		"a header with a blank":       {header("X A", "a"), "ValidationError"},
		"a field's values elsewhere":  {values("source-ip", "10.0.0.0/8"), "ValidationError"},
	} {
		t.Run(name, func(t *testing.T) {
			in := ruleOf(listener, 9, "/", forward(one))
			tc.change(in)
			_, err := b.elb.CreateRule(ctx(t), in)
			wantCode(t, err, tc.want)
		})
	}
	second := b.rule(listener, 2, "/2", forward(one))
	b.rule(listener, 3, "/3", forward(one))
	_, err := b.elb.CreateRule(ctx(t), ruleOf(listener, 4, "/4", forward(one)))
	wantCode(t, err, "TooManyRules")
	b.priorityCodes(listener, first, second, standard)

	modify := func(arn string, a types.Action) error {
		_, err := b.elb.ModifyRule(ctx(t), &elb.ModifyRuleInput{RuleArn: &arn, Actions: []types.Action{a}})
		return err
	}
	wantCode(t, modify(first, forward(foreign)), "TargetGroupAssociationLimit")
	wantCode(t, modify(first+"x", forward(one)), "RuleNotFound")
	wantCode(t, modify(standard, forward(one)), "OperationNotPermitted")
	for arn, want := range map[string]string{first + "x": "RuleNotFound", standard: "OperationNotPermitted", first: ""} {
		_, err := b.elb.DeleteRule(ctx(t), &elb.DeleteRuleInput{RuleArn: &arn})
		wantCode(t, err, want)
	}
	for _, in := range []*elb.DescribeRulesInput{{}, {ListenerArn: &listener, RuleArns: []string{second}}} {
		_, err := b.elb.DescribeRules(ctx(t), in)
		wantCode(t, err, "ValidationError")
	}
}

// priorityCodes swaps two rules, and has all lists refused that cannot be done as a whole.
func (b *elbBed) priorityCodes(listener, first, second, standard string) {
	set := func(pairs ...any) error {
		in := &elb.SetRulePrioritiesInput{}
		for n := 0; n < len(pairs); n += 2 {
			in.RulePriorities = append(in.RulePriorities, types.RulePriorityPair{
				RuleArn: aws.String(pairs[n].(string)), Priority: aws.Int32(int32(pairs[n+1].(int))),
			})
		}
		_, err := b.elb.SetRulePriorities(ctx(b.t), in)
		return err
	}
	wantCode(b.t, set(first, 2), "PriorityInUse")
	wantCode(b.t, set(first, 7, second, 7), "PriorityInUse")
	wantCode(b.t, set(first, 7, second, 3), "PriorityInUse")
	wantCode(b.t, set(first, 7, second+"x", 8), "RuleNotFound")
	wantCode(b.t, set(first, 7, standard, 8), "OperationNotPermitted")
	wantCode(b.t, set(first, 7, second, 50001), "ValidationError")
	if rules := b.rules(listener); *rules[0].RuleArn != first || *rules[0].Priority != "1" {
		b.t.Errorf("a refused list moved a rule: %+v", rules[0])
	}
	wantCode(b.t, set(first, 2, second, 1), "")
	if rules := b.rules(listener); *rules[0].RuleArn != second || *rules[1].Priority != "2" {
		b.t.Errorf("rules are not swapped: %+v", rules[:2])
	}
}
