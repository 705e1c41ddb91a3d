// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package ingress

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/e2e/suite"
)

// meddler changes by AWS's API what targetgate has made for one Ingress.
type meddler struct {
	t    *testing.T
	elb  *elbv2.Client
	ec2  *awsec2.Client
	name string // of the load balancer

	// What there is, as look has found it.
	balancer  types.LoadBalancer
	listeners []types.Listener
	rules     []types.Rule // without the default ones
	groups    []types.TargetGroup
	security  []ec2types.SecurityGroup
}

func newMeddler(t *testing.T, name string) *meddler {
	t.Helper()
	config := aws.Config{
		Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("AKIASOMEBODY", "secret", ""),
		BaseEndpoint: aws.String(bed.AWS.URL()),
	}
	return &meddler{t: t, elb: elbv2.NewFromConfig(config), ec2: awsec2.NewFromConfig(config), name: name}
}

// look finds out what there is of the load balancer, and what is seen of it: without ARNs, which are others after a part was made again.
func (m *meddler) look() (seen map[string]string, err error) {
	ctx := m.t.Context()
	balancers, err := m.elb.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{Names: []string{m.name}})
	if err != nil {
		return nil, err
	}
	m.balancer, m.rules = balancers.LoadBalancers[0], nil
	arn := m.balancer.LoadBalancerArn
	seen = map[string]string{}
	names := []string{*arn, "load balancer"}
	put := func(name string, value any, failure error) {
		text, fault := json.Marshal(value)
		if seen[name] = string(text); err == nil {
			err = cmpOr(failure, fault)
		}
	}
	tags := func(name string, arn *string) {
		out, failure := m.elb.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: []string{*arn}})
		all := map[string]string{}
		for _, d := range answer(out).TagDescriptions {
			for _, tag := range d.Tags {
				all[*tag.Key] = *tag.Value
			}
		}
		put(name+" tags", all, failure)
	}
	attributes, failure := m.elb.DescribeLoadBalancerAttributes(ctx, &elbv2.DescribeLoadBalancerAttributesInput{LoadBalancerArn: arn})
	put("balancer", []any{m.balancer.AvailabilityZones, m.balancer.SecurityGroups, m.balancer.IpAddressType, answer(attributes).Attributes}, failure)
	tags("balancer", arn)
	groups, failure := m.elb.DescribeTargetGroups(ctx, &elbv2.DescribeTargetGroupsInput{LoadBalancerArn: arn})
	m.groups = answer(groups).TargetGroups
	put("groups", len(m.groups), failure)
	for _, g := range m.groups {
		names = append(names, *g.TargetGroupArn, *g.TargetGroupName)
		attributes, failure := m.elb.DescribeTargetGroupAttributes(ctx, &elbv2.DescribeTargetGroupAttributesInput{TargetGroupArn: g.TargetGroupArn})
		put("group "+*g.TargetGroupName, []any{g, answer(attributes).Attributes}, failure)
		tags("group "+*g.TargetGroupName, g.TargetGroupArn)
		health, failure := m.elb.DescribeTargetHealth(ctx, &elbv2.DescribeTargetHealthInput{TargetGroupArn: g.TargetGroupArn})
		targets := map[string]bool{}
		for _, h := range answer(health).TargetHealthDescriptions {
			if h.TargetHealth.State != types.TargetHealthStateEnumDraining {
				targets[*h.Target.Id] = true
			}
		}
		put("targets of "+*g.TargetGroupName, targets, failure)
	}
	listeners, failure := m.elb.DescribeListeners(ctx, &elbv2.DescribeListenersInput{LoadBalancerArn: arn})
	m.listeners = answer(listeners).Listeners
	put("listeners", len(m.listeners), failure)
	for _, l := range m.listeners {
		name := fmt.Sprint("listener ", *l.Port)
		names = append(names, *l.ListenerArn, name)
		put(name, l, nil)
		tags(name, l.ListenerArn)
		rules, failure := m.elb.DescribeRules(ctx, &elbv2.DescribeRulesInput{ListenerArn: l.ListenerArn})
		put(name+" rules", len(answer(rules).Rules), failure)
		for _, r := range answer(rules).Rules {
			name := name + " rule " + *r.Priority
			names = append(names, *r.RuleArn, name)
			if put(name, r, nil); !*r.IsDefault {
				tags(name, r.RuleArn)
				m.rules = append(m.rules, r)
			}
		}
	}
	security, failure := m.ec2.DescribeSecurityGroups(ctx, &awsec2.DescribeSecurityGroupsInput{GroupIds: m.balancer.SecurityGroups})
	m.security = answer(security).SecurityGroups
	for _, g := range m.security {
		put("security group "+*g.GroupName, g, failure)
	}
	rename := strings.NewReplacer(names...)
	for name, text := range seen {
		seen[name] = rename.Replace(text)
	}
	return seen, err
}

func cmpOr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// answer is what AWS has answered, nothing if it has not.
func answer[T any](out *T) T {
	if out == nil {
		var none T
		return none
	}
	return *out
}

func pick[T any](random *rand.Rand, list []T) T { return list[random.IntN(len(list))] }

// meddlings are what somebody may do, by what it is. Each may be refused, as something else that was done has taken what it is about.
var meddlings = map[string]func(m *meddler, r *rand.Rand) error{
	"an attribute of the load balancer": func(m *meddler, _ *rand.Rand) error {
		_, err := m.elb.ModifyLoadBalancerAttributes(m.t.Context(), &elbv2.ModifyLoadBalancerAttributesInput{
			LoadBalancerArn: m.balancer.LoadBalancerArn,
			Attributes:      []types.LoadBalancerAttribute{{Key: aws.String("idle_timeout.timeout_seconds"), Value: aws.String("33")}},
		})
		return err
	},
	"a tag more":   func(m *meddler, _ *rand.Rand) error { return m.tag(m.balancer.LoadBalancerArn, "another", "one") },
	"a user's tag": func(m *meddler, _ *rand.Rand) error { return m.tag(m.balancer.LoadBalancerArn, "team", "another") },
	"whose load balancer it is": func(m *meddler, _ *rand.Rand) error {
		return m.tag(m.balancer.LoadBalancerArn, "ingress.k8s.aws/stack", "another")
	},
	"whose target group it is": func(m *meddler, r *rand.Rand) error {
		_, err := m.elb.RemoveTags(m.t.Context(), &elbv2.RemoveTagsInput{
			ResourceArns: []string{*pick(r, m.groups).TargetGroupArn}, TagKeys: []string{"ingress.k8s.aws/resource"},
		})
		return err
	},
	"the cluster of a rule": func(m *meddler, r *rand.Rand) error {
		return m.tag(pick(r, m.rules).RuleArn, "elbv2.k8s.aws/cluster", "another")
	},
	"a rule that is gone": func(m *meddler, r *rand.Rand) error {
		_, err := m.elb.DeleteRule(m.t.Context(), &elbv2.DeleteRuleInput{RuleArn: pick(r, m.rules).RuleArn})
		return err
	},
	"what a rule does": func(m *meddler, r *rand.Rand) error {
		_, err := m.elb.ModifyRule(m.t.Context(), &elbv2.ModifyRuleInput{RuleArn: pick(r, m.rules).RuleArn, Actions: teapot})
		return err
	},
	"where a rule stands": func(m *meddler, r *rand.Rand) error {
		_, err := m.elb.SetRulePriorities(m.t.Context(), &elbv2.SetRulePrioritiesInput{
			RulePriorities: []types.RulePriorityPair{{RuleArn: pick(r, m.rules).RuleArn, Priority: aws.Int32(int32(500 + r.IntN(100)))}},
		})
		return err
	},
	"a rule more": func(m *meddler, r *rand.Rand) error {
		_, err := m.elb.CreateRule(m.t.Context(), &elbv2.CreateRuleInput{
			ListenerArn: pick(r, m.listeners).ListenerArn, Priority: aws.Int32(int32(700 + r.IntN(100))), Actions: teapot,
			Conditions: []types.RuleCondition{{Field: aws.String("path-pattern"), Values: []string{"/theirs"}}},
		})
		return err
	},
	"a default action": func(m *meddler, r *rand.Rand) error {
		_, err := m.elb.ModifyListener(m.t.Context(), &elbv2.ModifyListenerInput{
			ListenerArn: pick(r, m.listeners).ListenerArn, DefaultActions: teapot,
		})
		return err
	},
	"a listener more": func(m *meddler, r *rand.Rand) error {
		_, err := m.elb.CreateListener(m.t.Context(), &elbv2.CreateListenerInput{
			LoadBalancerArn: m.balancer.LoadBalancerArn, Port: aws.Int32(int32(8100 + r.IntN(100))), Protocol: types.ProtocolEnumHttp, DefaultActions: teapot,
		})
		return err
	},
	"a health check": func(m *meddler, r *rand.Rand) error {
		_, err := m.elb.ModifyTargetGroup(m.t.Context(), &elbv2.ModifyTargetGroupInput{
			TargetGroupArn: pick(r, m.groups).TargetGroupArn, HealthCheckPath: aws.String("/healthz"), UnhealthyThresholdCount: aws.Int32(9),
		})
		return err
	},
	"an attribute of a target group": func(m *meddler, r *rand.Rand) error {
		_, err := m.elb.ModifyTargetGroupAttributes(m.t.Context(), &elbv2.ModifyTargetGroupAttributesInput{
			TargetGroupArn: pick(r, m.groups).TargetGroupArn,
			Attributes:     []types.TargetGroupAttribute{{Key: aws.String("deregistration_delay.timeout_seconds"), Value: aws.String("77")}},
		})
		return err
	},
	"targets that are gone": func(m *meddler, r *rand.Rand) error {
		arn := pick(r, m.groups).TargetGroupArn
		out, err := m.elb.DescribeTargetHealth(m.t.Context(), &elbv2.DescribeTargetHealthInput{TargetGroupArn: arn})
		if err != nil {
			return err
		}
		var all []types.TargetDescription
		for _, h := range out.TargetHealthDescriptions {
			all = append(all, *h.Target)
		}
		_, err = m.elb.DeregisterTargets(m.t.Context(), &elbv2.DeregisterTargetsInput{TargetGroupArn: arn, Targets: all})
		return err
	},
	"inbound rules that are gone": func(m *meddler, _ *rand.Rand) error {
		group := m.managed()
		_, err := m.ec2.RevokeSecurityGroupIngress(m.t.Context(), &awsec2.RevokeSecurityGroupIngressInput{
			GroupId: group.GroupId, IpPermissions: group.IpPermissions,
		})
		return err
	},
	"an inbound rule more": func(m *meddler, r *rand.Rand) error {
		_, err := m.ec2.AuthorizeSecurityGroupIngress(m.t.Context(), &awsec2.AuthorizeSecurityGroupIngressInput{
			GroupId: m.managed().GroupId, IpPermissions: []ec2types.IpPermission{{
				IpProtocol: aws.String("tcp"), FromPort: aws.Int32(22), ToPort: aws.Int32(22),
				IpRanges: []ec2types.IpRange{{CidrIp: aws.String(fmt.Sprintf("192.0.2.%d/32", r.IntN(256)))}},
			}},
		})
		return err
	},
	"whose security group it is": func(m *meddler, _ *rand.Rand) error {
		_, err := m.ec2.DeleteTags(m.t.Context(), &awsec2.DeleteTagsInput{
			Resources: []string{*m.managed().GroupId}, Tags: []ec2types.Tag{{Key: aws.String("ingress.k8s.aws/stack")}},
		})
		return err
	},
	"its security groups": func(m *meddler, _ *rand.Rand) error {
		_, err := m.elb.SetSecurityGroups(m.t.Context(), &elbv2.SetSecurityGroupsInput{
			LoadBalancerArn: m.balancer.LoadBalancerArn, SecurityGroups: m.balancer.SecurityGroups[:1],
		})
		return err
	},
}

// teapot is what no Ingress asks for.
var teapot = []types.Action{{
	Type: types.ActionTypeEnumFixedResponse, FixedResponseConfig: &types.FixedResponseActionConfig{StatusCode: aws.String("418")},
}}

func (m *meddler) tag(arn *string, key, value string) error {
	_, err := m.elb.AddTags(m.t.Context(), &elbv2.AddTagsInput{
		ResourceArns: []string{*arn}, Tags: []types.Tag{{Key: aws.String(key), Value: aws.String(value)}},
	})
	return err
}

// managed is the security group that the load balancer has for itself.
func (m *meddler) managed() ec2types.SecurityGroup {
	at := slices.IndexFunc(m.security, func(g ec2types.SecurityGroup) bool { return !strings.HasPrefix(*g.GroupName, "k8s-traffic-") })
	return m.security[at]
}

// Somebody changes several things at once in AWS, at random: all are as they were within the drift intervals.
func TestWhatSomebodyElseChangesInAWSComesBack(t *testing.T) {
	bed.WithFlags(t, append(bed.Targetgate.Flags(), "--ingress-drift-interval=10s", "--drift-interval=10s")...)
	app := newApp("meddled")
	app.Replicas = 1
	bed.Deploy(t, app)
	host := app.Name + ".example.com"
	ingress := newIngress(app.Name, []networkingv1.IngressRule{rule(host, "/ "+app.Name, "/a "+app.Name, "/b "+app.Name)}, "target-type=ip",
		"load-balancer-attributes=idle_timeout.timeout_seconds=90", "tags=team=edge", "target-group-attributes=deregistration_delay.timeout_seconds=5")
	create(t, ingress)
	balancer := awaitHost(t, ingress)
	suite.Eventually(t, "answers", func() error { return answeredBy(t, app, balancer, host, "/b") })
	bed.AwaitRolled(t, app)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 45))
	found, ok := bed.AWS.ELB.BalancerNamed(balancer)
	if !ok {
		t.Fatalf("there is no load balancer %s", balancer)
	}
	m := newMeddler(t, found.Name)
	var before map[string]string
	suite.Eventually(t, "a load balancer that stays as it is", func() error {
		first, err := m.look()
		if err != nil {
			return err
		}
		time.Sleep(12 * time.Second) // longer than an interval
		if before, err = m.look(); err == nil && !maps.Equal(first, before) {
			err = fmt.Errorf("it changes: %s", difference(first, before))
		}
		return err
	})
	for range 2 {
		var done []string
		names := slices.Sorted(maps.Keys(meddlings))
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names[:6] {
			_, err := m.look()
			suite.Must(t, err)
			if len(m.rules) > 0 && len(m.groups) > 0 && meddlings[name](m, random) == nil {
				done = append(done, name)
			}
		}
		begun := time.Now()
		t.Logf("seed %d: somebody has changed %s", seed, strings.Join(done, ", "))
		suite.Eventually(t, "all to be as it was", func() error {
			now, err := m.look()
			if err == nil && !maps.Equal(before, now) {
				err = fmt.Errorf("%s", difference(before, now))
			}
			return err
		})
		t.Logf("back after %s", time.Since(begun).Round(time.Second))
	}
}

func difference(before, now map[string]string) string {
	var out []string
	all := maps.Clone(before)
	maps.Copy(all, now)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if before[name] != now[name] {
			out = append(out, fmt.Sprintf("%s was %s, is %s", name, before[name], now[name]))
		}
	}
	return strings.Join(out, "; ")
}
