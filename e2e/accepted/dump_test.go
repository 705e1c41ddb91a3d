// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package accepted

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
)

// dump is all that AWS shows of load balancers, target groups and security groups, without what it chooses itself: ARNs, IDs, DNS names and
// times.
type dump struct {
	*somebody
	names   map[string]string // of what has an ARN or ID
	entries map[string]string // in JSON, by name
	err     error
}

// dump reads it through AWS's API, as somebody who knows nothing of targetgate would.
func (y *somebody) dump() map[string]string {
	y.t.Helper()
	d := &dump{somebody: y, names: map[string]string{}, entries: map[string]string{}}
	d.securityGroups()
	d.targetGroups()
	d.loadBalancers()
	if d.err != nil {
		y.t.Fatal(d.err)
	}
	longestFirst := slices.SortedFunc(maps.Keys(d.names), func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, id := range longestFirst {
		pairs = append(pairs, id, d.names[id])
	}
	rename := strings.NewReplacer(pairs...)
	for name, text := range d.entries {
		d.entries[name] = rename.Replace(text)
	}
	return d.entries
}

// put has what AWS has answered about something in the dump.
func (d *dump) put(name, what string, answer any, err error) {
	if d.err != nil {
		return
	}
	text, failure := json.Marshal(answer)
	if d.err = err; err == nil {
		d.err = failure
	}
	d.entries[name+" "+what] = string(text)
}

func (d *dump) securityGroups() {
	out, err := d.ec2.DescribeSecurityGroups(d.t.Context(), &awsec2.DescribeSecurityGroupsInput{})
	if d.err = err; err != nil {
		return
	}
	for _, g := range out.SecurityGroups {
		d.names[aws.ToString(g.GroupId)] = aws.ToString(g.GroupName)
		slices.SortFunc(g.Tags, func(a, b ec2Tag) int { return strings.Compare(*a.Key, *b.Key) })
		for _, p := range g.IpPermissions {
			slices.SortFunc(p.IpRanges, func(a, b ec2Range) int { return strings.Compare(*a.CidrIp, *b.CidrIp) })
		}
		slices.SortFunc(g.IpPermissions, func(a, b ec2Permission) int { return int(aws.ToInt32(a.FromPort) - aws.ToInt32(b.FromPort)) })
		d.put("security group "+*g.GroupName, "itself", g, nil)
	}
}

func (d *dump) targetGroups() {
	ctx := d.t.Context()
	out, err := d.elb.DescribeTargetGroups(ctx, &elbv2.DescribeTargetGroupsInput{})
	if d.err = err; err != nil {
		return
	}
	for _, g := range out.TargetGroups {
		name := "target group " + *g.TargetGroupName
		d.names[*g.TargetGroupArn] = name
		d.put(name, "itself", g, nil)
		attributes, err := d.elb.DescribeTargetGroupAttributes(ctx, &elbv2.DescribeTargetGroupAttributesInput{TargetGroupArn: g.TargetGroupArn})
		d.put(name, "attributes", answer(attributes).Attributes, err)
		health, err := d.elb.DescribeTargetHealth(ctx, &elbv2.DescribeTargetHealthInput{TargetGroupArn: g.TargetGroupArn})
		var targets []string
		for _, t := range answer(health).TargetHealthDescriptions {
			if t.TargetHealth.State != "draining" {
				targets = append(targets, fmt.Sprint(aws.ToString(t.Target.Id), " ", aws.ToInt32(t.Target.Port)))
			}
		}
		d.put(name, "targets", targets, err)
		d.tagsOf(name, *g.TargetGroupArn)
	}
}

// answer is what AWS has answered, nothing if it has not.
func answer[T any](out *T) T {
	if out == nil {
		var none T
		return none
	}
	return *out
}

func (d *dump) tagsOf(name, arn string) {
	out, err := d.elb.DescribeTags(d.t.Context(), &elbv2.DescribeTagsInput{ResourceArns: []string{arn}})
	tags := map[string]string{}
	for _, described := range answer(out).TagDescriptions {
		for _, tag := range described.Tags {
			tags[*tag.Key] = *tag.Value
		}
	}
	d.put(name, "tags", tags, err)
}

func (d *dump) loadBalancers() {
	ctx := d.t.Context()
	out, err := d.elb.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{})
	if d.err = err; err != nil {
		return
	}
	for _, b := range out.LoadBalancers {
		name := "load balancer " + *b.LoadBalancerName
		d.names[*b.LoadBalancerArn], d.names[*b.DNSName] = name, "dns of "+name
		b.CreatedTime = nil
		for i, id := range b.SecurityGroups {
			b.SecurityGroups[i] = d.names[id]
		}
		slices.Sort(b.SecurityGroups)
		d.put(name, "itself", b, nil)
		attributes, err := d.elb.DescribeLoadBalancerAttributes(ctx, &elbv2.DescribeLoadBalancerAttributesInput{LoadBalancerArn: b.LoadBalancerArn})
		d.put(name, "attributes", answer(attributes).Attributes, err)
		capacity, err := d.elb.DescribeCapacityReservation(ctx, &elbv2.DescribeCapacityReservationInput{LoadBalancerArn: b.LoadBalancerArn})
		d.put(name, "capacity", answer(capacity).MinimumLoadBalancerCapacity, err)
		d.tagsOf(name, *b.LoadBalancerArn)
		d.guards(name, *b.LoadBalancerArn, string(b.Type))
		d.listeners(name, *b.LoadBalancerArn, string(b.Type))
	}
}

// guards are web ACLs and protections.
func (d *dump) guards(name, arn, kind string) {
	if kind != "application" {
		return
	}
	acl, _, err := d.aws.WAF.Of("", arn)
	d.put(name, "web ACL", acl.ARN, err)
	classic, _, err := d.aws.WAF.ClassicOf("", arn)
	d.put(name, "classic web ACL", classic.ID, err)
	protection, err := d.aws.Shield.Protection("", "", arn)
	d.put(name, "protection", err == nil && protection.ID != "", nil)
}

func (d *dump) listeners(balancer, arn, kind string) {
	ctx := d.t.Context()
	out, err := d.elb.DescribeListeners(ctx, &elbv2.DescribeListenersInput{LoadBalancerArn: aws.String(arn)})
	if d.err = err; err != nil {
		return
	}
	for _, l := range out.Listeners {
		name := fmt.Sprintf("listener %d of %s", *l.Port, balancer)
		d.names[*l.ListenerArn] = name
		d.put(name, "itself", l, nil)
		attributes, err := d.elb.DescribeListenerAttributes(ctx, &elbv2.DescribeListenerAttributesInput{ListenerArn: l.ListenerArn})
		d.put(name, "attributes", answer(attributes).Attributes, err)
		d.tagsOf(name, *l.ListenerArn)
		if l.Protocol == "HTTPS" {
			certificates, err := d.elb.DescribeListenerCertificates(ctx, &elbv2.DescribeListenerCertificatesInput{ListenerArn: l.ListenerArn})
			slices.SortFunc(answer(certificates).Certificates, func(a, b elbCertificate) int {
				return strings.Compare(fmt.Sprint(*a.IsDefault, *a.CertificateArn), fmt.Sprint(*b.IsDefault, *b.CertificateArn))
			})
			d.put(name, "certificates", answer(certificates).Certificates, err)
		}
		if kind != "application" {
			continue
		}
		rules, err := d.elb.DescribeRules(ctx, &elbv2.DescribeRulesInput{ListenerArn: l.ListenerArn})
		d.put(name, "", "", err)
		for _, r := range answer(rules).Rules {
			name := fmt.Sprintf("rule %s of %s", *r.Priority, name)
			d.names[*r.RuleArn] = name
			d.put(name, "itself", r, nil)
			if !*r.IsDefault { // it is the listener's default action
				d.tagsOf(name, *r.RuleArn)
			}
		}
	}
}
