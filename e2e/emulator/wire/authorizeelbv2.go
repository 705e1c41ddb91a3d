// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// elbv2Resources are those that the call names. Describe operations know no resources, and what is created has no id yet.
func elbv2Resources(s *Server, q *request) []string {
	if strings.HasPrefix(q.operation, "Describe") {
		return []string{"*"}
	}
	switch q.operation {
	case "CreateTargetGroup", "CreateLoadBalancer":
		return []string{s.created(q)}
	}
	named := q.texts("ResourceArns.member")
	for _, entry := range q.list("RulePriorities.member") {
		named = append(named, entry.text("RuleArn"))
	}
	for _, parameter := range []string{"TargetGroupArn", "LoadBalancerArn", "ListenerArn", "RuleArn"} {
		if arn := q.text(parameter); arn != "" {
			named = append(named, arn)
		}
	}
	return named
}

// created is what a call creates, with a star for the id that it has not got yet.
func (s *Server) created(q *request) string {
	prefix := "arn:aws:elasticloadbalancing:" + s.machine.Options().Region + ":" + q.caller.account + ":"
	switch q.operation {
	case "CreateTargetGroup":
		return prefix + "targetgroup/" + q.text("Name") + "/*"
	case "CreateLoadBalancer":
		kind := "app"
		if q.text("Type") == state.Network {
			kind = "net"
		}
		return prefix + "loadbalancer/" + kind + "/" + q.text("Name") + "/*"
	case "CreateListener":
		return strings.Replace(q.text("LoadBalancerArn"), ":loadbalancer/", ":listener/", 1) + "/*"
	case "CreateRule":
		return strings.Replace(q.text("ListenerArn"), ":listener/", ":listener-rule/", 1) + "/*"
	}
	return ""
}

// elbv2Tagging has a call that creates with tags need AddTags, too, on what it creates. Conditions may ask which call it is. A login at a
// user pool needs the right to look at its client.
func elbv2Tagging(s *Server, q *request) error {
	for _, pool := range q.userPools() {
		if err := s.permit(q, "cognito-idp:DescribeUserPoolClient", pool, s.conditionKeys(q, pool)); err != nil {
			return err
		}
	}
	resource := s.created(q)
	if resource == "" || len(q.list("Tags.member")) == 0 {
		return nil
	}
	keys := s.conditionKeys(q, resource)
	keys["elasticloadbalancing:CreateAction"] = q.operation
	return s.permit(q, "elasticloadbalancing:AddTags", resource, keys)
}
