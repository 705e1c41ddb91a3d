//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/routing"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// estate is all that a controller has made for a group of Ingresses, without IDs that AWS gives: target groups and security groups stand
// there by their names. So that of one controller can be laid down for another to find, and compared with what that one makes.
type estate struct {
	Group          string // of Ingresses
	LoadBalancer   state.BalancerSpec
	Attributes     map[string]string // of the load balancer, of those that are asked for
	WebACL         string            // ARN, "" for none; layDown leaves it out, as AWS WAF waits for the load balancer
	SecurityGroups []securityGroup
	TargetGroups   []targetGroup
	Listeners      []listener
	Bindings       []v1beta1.TargetGroupBinding
}

type (
	securityGroup struct {
		ec2.SecurityGroupSpec
		Rules []string // "protocol from-to source"
	}
	targetGroup struct {
		state.GroupSpec
		Tags, Attributes map[string]string // of the attributes those that are asked for
	}
	listener struct {
		state.ListenerSpec
		Rules []rules
	}
	rules struct {
		state.ListenerRule
		Tags map[string]string
	}
)

// hashed is a name as aws-load-balancer-controller makes it: readable parts, and the hash of texts.
func hashed(readable string, texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "")))
	return "k8s-" + readable + "-" + hex.EncodeToString(sum[:])[:10]
}

// stackTags are those of a part of the group.
func stackTags(group, part string) map[string]string {
	return map[string]string{
		"elbv2.k8s.aws/cluster": bed.ClusterName(), "ingress.k8s.aws/stack": group, "ingress.k8s.aws/resource": part,
	}
}

// layDown makes the estate in AWS. It returns the ARNs of the target groups by name, and the load balancer's name in DNS.
func (e estate) layDown() (groups map[string]string, host string, err error) {
	aws, ids := bed.AWS, map[string]string{}
	there, err := aws.EC2.DescribeSecurityGroups("")
	if err != nil {
		return nil, "", err
	}
	for _, group := range there {
		ids[group.Name] = group.ID
	}
	for _, group := range e.SecurityGroups {
		if ids[group.Name] != "" {
			continue // that which load balancers share
		}
		made, err := aws.EC2.CreateSecurityGroup("", group.SecurityGroupSpec)
		if err != nil {
			return nil, "", err
		}
		ids[group.Name] = made.ID
		var rules []ec2.Permission
		for _, text := range group.Rules {
			rules = append(rules, ec2.Permission{Rule: parseRule(text)})
		}
		if err := aws.EC2.AuthorizeIngress("", made.ID, rules); len(rules) > 0 && err != nil {
			return nil, "", err
		}
	}
	groups = map[string]string{}
	for _, group := range e.TargetGroups {
		made, err := aws.ELB.CreateTaggedGroup("", group.GroupSpec, group.Tags)
		if err != nil {
			return nil, "", err
		}
		groups[group.Name] = made.ARN
		if _, err := aws.ELB.ModifyAttributes(made.ARN, group.Attributes); err != nil {
			return nil, "", err
		}
	}
	spec := e.LoadBalancer
	spec.SecurityGroups = renamed(spec.SecurityGroups, ids)
	balancer, err := aws.ELB.CreateBalancer("", spec)
	if err != nil {
		return nil, "", err
	}
	if _, err := aws.ELB.BalancerAttributes(balancer.ARN, e.Attributes); err != nil {
		return nil, "", err
	}
	for _, l := range e.Listeners {
		if err := l.layDown(balancer.ARN, groups); err != nil {
			return nil, "", err
		}
	}
	return groups, balancer.DNSName, nil
}

func (l listener) layDown(balancer string, groups map[string]string) error {
	aws := bed.AWS
	spec := l.ListenerSpec
	spec.LoadBalancer, spec.Default = balancer, forwarded(spec.Default, groups)
	certificates := spec.Certificates
	spec.Certificates = certificates[:min(1, len(certificates))]
	made, err := aws.ELB.CreateListener(spec)
	if err != nil {
		return err
	}
	if len(certificates) > 1 {
		if _, err := aws.ELB.AddCertificates(made.ARN, certificates[1:]); err != nil {
			return err
		}
	}
	for _, r := range l.Rules {
		rule := r.ListenerRule
		rule.Listener, rule.Action = made.ARN, forwarded(rule.Action, groups)
		if _, err := aws.ELB.CreateRule(rule, r.Tags); err != nil {
			return err
		}
	}
	return nil
}

// renamed has the names of a list be what they stand for.
func renamed(list []string, names map[string]string) (out []string) {
	for _, name := range list {
		out = append(out, names[name])
	}
	return out
}

// forwarded has the target groups of an action be what their names stand for.
func forwarded(action routing.Action, names map[string]string) routing.Action {
	if action.Forward == nil {
		return action
	}
	forward := *action.Forward
	forward.Groups = slices.Clone(forward.Groups)
	for i := range forward.Groups {
		forward.Groups[i].Group = names[forward.Groups[i].Group]
	}
	action.Forward = &forward
	return action
}

func parseRule(text string) (rule ec2.Rule) {
	var source string
	if _, err := fmt.Sscanf(text, "%s %d-%d %s", &rule.Protocol, &rule.From, &rule.To, &source); err != nil {
		panic(err) // it is a test's own
	}
	if strings.HasPrefix(source, "sg-") {
		rule.Source.Group = source
		return rule
	}
	rule.Source.CIDR = mustPrefix(source)
	return rule
}

// readEstate is what there is in AWS of the group: of attributes those that are in wanted.
func readEstate(wanted estate) (out estate, err error) {
	out.Group = wanted.Group
	all, err := tagged()
	if err != nil {
		return out, err
	}
	isOurs := func(id string) bool {
		return all[id]["ingress.k8s.aws/stack"] == wanted.Group || all[id]["elbv2.k8s.aws/resource"] == "backend-sg"
	}
	aws, names := bed.AWS, map[string]string{}
	security, err := aws.EC2.DescribeSecurityGroups("")
	if err != nil {
		return out, err
	}
	for _, group := range security {
		if isOurs(group.ID) {
			names[group.ID] = group.Name
			out.SecurityGroups = append(out.SecurityGroups, readSecurityGroup(group))
		}
	}
	groups, err := aws.ELB.Groups(state.GroupFilter{})
	if err != nil {
		return out, err
	}
	for _, group := range groups {
		if isOurs(group.ARN) {
			names[group.ARN] = group.Name
			attributes, err := aws.ELB.Attributes(group.ARN)
			if err != nil {
				return out, err
			}
			asked := map[string]string{}
			if i := slices.IndexFunc(wanted.TargetGroups, func(g targetGroup) bool { return g.Name == group.Name }); i >= 0 {
				asked = wanted.TargetGroups[i].Attributes
			}
			out.TargetGroups = append(out.TargetGroups, targetGroup{group.GroupSpec, all[group.ARN], only(attributes, asked)})
		}
	}
	balancers, err := aws.ELB.Balancers("", nil, nil)
	if err != nil {
		return out, err
	}
	for _, b := range balancers {
		if isOurs(b.ARN) {
			if err := out.readBalancer(b, all[b.ARN], names, wanted); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

func readSecurityGroup(group ec2.SecurityGroup) securityGroup {
	out := securityGroup{SecurityGroupSpec: group.SecurityGroupSpec}
	out.VPC = ""
	for _, p := range group.Ingress {
		out.Rules = append(out.Rules, fmt.Sprintf("%s %d-%d %s", p.Protocol, p.From, p.To, p.Source))
	}
	slices.Sort(out.Rules)
	return out
}

func (e *estate) readBalancer(b state.Balancer, tags, names map[string]string, wanted estate) error {
	aws := bed.AWS
	attributes, err := aws.ELB.BalancerAttributes(b.ARN, nil)
	if err != nil {
		return err
	}
	e.LoadBalancer, e.Attributes = b.BalancerSpec, only(attributes, wanted.Attributes)
	e.LoadBalancer.Tags, e.LoadBalancer.SecurityGroups = tags, renamed(b.SecurityGroups, names)
	acl, _, err := aws.WAF.Of("", b.ARN)
	if err != nil {
		return err
	}
	e.WebACL = acl.ARN
	listeners, err := aws.ELB.Listeners(b.ARN)
	if err != nil {
		return err
	}
	for _, l := range listeners {
		read := listener{ListenerSpec: l.ListenerSpec}
		read.LoadBalancer, read.Group, read.Default = "", "", forwarded(l.Default, names)
		if read.Tags, err = aws.ELB.Tags(l.ARN); err != nil {
			return err
		}
		found, err := aws.ELB.Rules(l.ARN)
		if err != nil {
			return err
		}
		for _, r := range found {
			if r.IsDefault() {
				continue
			}
			tags, err := aws.ELB.Tags(r.ARN)
			if err != nil {
				return err
			}
			r.ARN, r.Listener, r.Action = "", "", forwarded(r.Action, names)
			read.Rules = append(read.Rules, rules{r, tags})
		}
		e.Listeners = append(e.Listeners, read)
	}
	return nil
}

// only are the values of the keys that are asked for.
func only(all, asked map[string]string) map[string]string {
	out := maps.Clone(asked)
	for key := range out {
		out[key] = all[key]
	}
	return out
}
