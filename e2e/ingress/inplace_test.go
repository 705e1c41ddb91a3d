//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/e2e/emulator/acm"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	emulated "github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/waf"
	"github.com/targetgate/targetgate/e2e/suite"
)

// What can be changed is changed where it is: the load balancer stays the same one, and answers.
func TestSettingsAreChangedInPlace(t *testing.T) {
	t.Parallel()
	app := newApp("settings")
	app.Replicas = 1
	bed.Deploy(t, app)
	aws := bed.AWS
	first, err := aws.ACM.Add("", acm.Spec{Domains: []string{"settings.example.com"}})
	suite.Must(t, err)
	second, err := aws.ACM.Add("", acm.Spec{Domains: []string{"settings.example.org"}})
	suite.Must(t, err)
	given, err := aws.EC2.CreateSecurityGroup("", ec2.SecurityGroupSpec{Name: "settings", Description: "made by Terraform"})
	suite.Must(t, err)
	suite.Must(t, aws.EC2.AuthorizeIngress("", given.ID, []ec2.Permission{{Rule: parseRule("tcp 80-80 0.0.0.0/0")}}))
	acl := aws.WAF.Add("", "settings", waf.ScopeRegional)
	classic := aws.WAF.AddClassic("", "settings")
	aws.ELB.PutPool("ipam-pool-settings")
	aws.Shield.Subscribe("", true)

	ingress := newIngress(app.Name, []networkingv1.IngressRule{rule("settings.example.com", "/ "+app.Name)},
		"target-type=ip", `listen-ports=[{"HTTP": 80}, {"HTTPS": 443}]`, "certificate-arn="+first.ARN+","+second.ARN, "scheme=internet-facing")
	create(t, ingress)
	host := awaitHost(t, ingress)
	answers := func() error { return answeredBy(t, app, host, "settings.example.com", "/") }
	suite.Eventually(t, "an answer", answers)
	balancer, _ := aws.ELB.BalancerNamed(host)
	const subnets = "subnet-0a000000000000001,subnet-0b000000000000002"
	for _, step := range []struct{ annotate, want string }{
		{"ip-address-type=dualstack", "address type: dualstack"},
		{"subnets=" + subnets, "subnets: " + subnets},
		{"tags=team=web,stage=test", "tags of 5 parts: stage=test team=web"},
		{"tags=team=api", "tags of 5 parts: team=api"},
		{"listener-attributes.HTTP-80=routing.http.response.server.enabled=false", "server header: false"},
		{"certificate-arn=" + first.ARN, "certificates: " + first.ARN},
		{"waf-acl-id=" + classic.ID, "web ACL of WAF Classic: settings"},
		{"waf-acl-id=none", "web ACL of WAF Classic: "},
		{"waf-acl-id;web-acl-id=" + classic.ID, "web ACL of WAF Classic: settings"},
		{"web-acl-id;wafv2-acl-arn=" + acl.ARN, "web ACL of WAF Classic: "}, // AWS takes it off
		{"waf-acl-id=none", "web ACL: " + acl.ARN},                          // it is looked whether AWS has
		{"wafv2-acl-arn=none", "web ACL: "},
		{"wafv2-acl-name=settings", "web ACL: " + acl.ARN},
		{"shield-advanced-protection=true", "protection: managed by aws-load-balancer-controller"},
		{"shield-advanced-protection=false", "protection: "},
		{"ipam-ipv4-pool-id=ipam-pool-settings", "address pool: ipam-pool-settings"},
		{"ipam-ipv4-pool-id", "address pool: "},
		{"minimum-load-balancer-capacity=CapacityUnits=1000", "capacity: 1000"},
		{"minimum-load-balancer-capacity=CapacityUnits=0", "capacity: 0"},
		{"security-groups=" + given.ID + ";manage-backend-security-group-rules=true", "security groups: settings backend"},
	} {
		annotate(t, ingress, step.annotate)
		suite.Eventually(t, step.want, func() error {
			settings, err := settingsOf(balancer.ARN)
			if err == nil && !slices.Contains(settings, step.want) {
				err = fmt.Errorf("there is %q", settings)
			}
			return err
		})
	}
	suite.Eventually(t, "the Ingress to be told", func() error { return said(t, ingress, "AWS has retired AWS WAF Classic") })
	suite.Eventually(t, "an answer after all changes", answers)
	if still := awaitHost(t, ingress); still != host {
		t.Errorf("the load balancer is %s now, want %s", still, host)
	}
	suite.Must(t, bed.Client.Delete(t.Context(), ingress.DeepCopy()))
	awaitGone(t, ingress, "settings/settings")
}

// settingsOf are those of a load balancer, "name: value".
func settingsOf(arn string) (settings []string, err error) {
	aws, names := bed.AWS, map[string]string{}
	balancers, err := aws.ELB.Balancers("", []string{arn}, nil)
	if err != nil {
		return nil, err
	}
	security, err := aws.EC2.DescribeSecurityGroups("", balancers[0].SecurityGroups...)
	if err != nil {
		return nil, err
	}
	add := func(name, value string) { settings = append(settings, name+": "+value) }
	var groups []string
	parts := []map[string]string{}
	for _, group := range security {
		name, isOurs := group.Name, group.Tags["ingress.k8s.aws/stack"] != ""
		if isOurs {
			parts = append(parts, group.Tags)
		} else if group.Tags["elbv2.k8s.aws/resource"] == "backend-sg" {
			name = "backend"
		}
		names[group.ID] = name
	}
	for _, id := range balancers[0].SecurityGroups {
		groups = append(groups, names[id])
	}
	add("address type", balancers[0].AddressType)
	add("subnets", strings.Join(slices.Sorted(slices.Values(balancers[0].Subnets)), ","))
	add("security groups", strings.Join(groups, " "))
	add("address pool", balancers[0].IPAMPool)
	protection, _ := aws.Shield.Protection("", "", arn) // an error is none
	add("protection", protection.Name)
	reserved, err := aws.ELB.Capacity(arn)
	add("capacity", strconv.Itoa(reserved.Units))
	acl, _, aclErr := aws.WAF.Of("", arn)
	classic, _, classicErr := aws.WAF.ClassicOf("", arn)
	err = errors.Join(err, aclErr, classicErr)
	add("web ACL", acl.ARN)
	add("web ACL of WAF Classic", classic.Name)
	listeners, listenersErr := aws.ELB.Listeners(arn)
	targets, targetsErr := aws.ELB.Groups(emulated.GroupFilter{LoadBalancer: arn})
	arns := []string{arn}
	for _, group := range targets {
		arns = append(arns, group.ARN)
	}
	for _, l := range listeners {
		if l.Port == 443 {
			add("certificates", strings.Join(slices.Compact(slices.Sorted(slices.Values(l.Certificates))), ","))
			continue
		}
		attributes, attributesErr := aws.ELB.ListenerAttributes(l.ARN, nil)
		rules, rulesErr := aws.ELB.Rules(l.ARN)
		err = errors.Join(err, attributesErr, rulesErr)
		add("server header", attributes["routing.http.response.server.enabled"])
		arns = append(arns, l.ARN)
		for _, r := range rules {
			if !r.IsDefault() {
				arns = append(arns, r.ARN)
			}
		}
	}
	for _, arn := range arns {
		tags, tagsErr := aws.ELB.Tags(arn)
		parts, err = append(parts, tags), errors.Join(err, tagsErr)
	}
	same := map[string]int{}
	for _, tags := range parts {
		tags = maps.Clone(tags)
		maps.DeleteFunc(tags, func(key, _ string) bool { return strings.Contains(key, "k8s.aws/") })
		same[joined(tags)]++
	}
	for tags, count := range same {
		add("tags of "+strconv.Itoa(count)+" parts", tags)
	}
	return settings, errors.Join(err, listenersErr, targetsErr)
}

func joined(tags map[string]string) string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, key+"="+tags[key])
	}
	return strings.Join(list, " ")
}
