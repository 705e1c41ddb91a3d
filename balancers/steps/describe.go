// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/targetgate/targetgate/balancers/stack"
)

// String says in one line what the step does.
func (s Step) String() string {
	text := describe(s.Change)
	_, only := s.Change.(Nothing)
	switch {
	case s.Wait == nil:
		return text
	case only:
		return "wait until " + s.Wait.String()
	}
	return text + ", once " + s.Wait.String()
}

// String says what must hold.
func (w Wait) String() string {
	switch {
	case w.Active != stack.Ref{}:
		return balancerText(w.Active) + " is active"
	case w.Gone != stack.Ref{}:
		return balancerText(w.Gone) + " is deleted"
	case w.Open != stack.Ref{}:
		return "targets of target group " + groupText(w.Open) + " let it in"
	case w.Settled != stack.Ref{}:
		return "the settle time of " + balancerText(w.Settled) + " is over (--load-balancer-settle-time)"
	case w.Instead.Part != "" && w.Instead.Part != w.Healthy.Part:
		return "target group " + groupText(w.Healthy) + " is as healthy as " + groupText(w.Instead)
	case w.Instead != stack.Ref{}:
		return "target group " + groupText(w.Healthy) + " is as healthy as the one before"
	}
	return "target group " + groupText(w.Healthy) + " is healthy"
}

// MarshalJSON gives each step as an object with the keys change (the name of its type), text, why, wait and late, the last two only if
// they are set. Other programs may rely on them.
func (p Plan) MarshalJSON() ([]byte, error) {
	type step struct {
		Change string `json:"change"`
		Text   string `json:"text"`
		Why    string `json:"why"`
		Wait   string `json:"wait,omitempty"`
		Late   bool   `json:"late,omitempty"`
	}
	steps := make([]step, len(p))
	for i, s := range p {
		steps[i] = step{Change: reflect.TypeOf(s.Change).Name(), Text: describe(s.Change), Why: s.Why, Late: s.Late}
		if s.Wait != nil {
			steps[i].Wait = s.Wait.String()
		}
	}
	return json.Marshal(steps)
}

func describe(change Change) string {
	for _, describe := range []func(Change) string{describeGroups, describeBalancer, describeListener, describeRule} {
		if text := describe(change); text != "" {
			return text
		}
	}
	return "do nothing"
}

func describeGroups(change Change) string {
	switch c := change.(type) {
	case CreateSecurityGroup:
		return "create security group " + c.Group.Name
	case Authorize:
		return "let in " + inboundText(c.Rules) + " by security group " + refText(c.Group)
	case Revoke:
		return "no longer let in " + inboundText(c.Rules) + " by security group " + refText(c.Group)
	case DeleteSecurityGroup:
		return "delete security group " + refText(c.Group)
	case CreateTargetGroup:
		return "create target group " + c.Group.Part + " named " + c.Group.Name
	case SetHealthCheck:
		return "change the health check of target group " + groupText(c.Group)
	case SetTargetGroupAttributes:
		return "set " + mapText(c.Attributes) + " of target group " + groupText(c.Group)
	case RegisterLoadBalancer:
		return fmt.Sprintf("register %s at port %d in target group %s", balancerText(c.Target), c.Port, groupText(c.Group))
	case DeleteTargetGroup:
		return "delete target group " + refText(c.Group)
	}
	return describeBinding(change)
}

func describeBinding(change Change) string {
	switch c := change.(type) {
	case CreateBinding:
		return fmt.Sprintf("create binding %s/%s of Service %s:%s to target group %s",
			c.Binding.Namespace, c.Binding.Name, c.Binding.Spec.Service, c.Binding.Spec.Port.String(), groupText(c.Binding.Group))
	case UpdateBinding:
		return "update binding " + c.Binding.Namespace + "/" + c.Binding.Name
	case DeleteBinding:
		return "delete binding " + c.Namespace + "/" + c.Name
	case Tag:
		return "tag " + refText(c.Of) + " with " + mapText(c.Tags)
	case Untag:
		return "remove tags " + strings.Join(c.Keys, ", ") + " from " + refText(c.Of)
	}
	return ""
}

func describeBalancer(change Change) string {
	switch c := change.(type) {
	case CreateLoadBalancer:
		kind := map[bool]string{false: " load balancer ", true: " Network Load Balancer "}[c.LoadBalancer.Network]
		return "create " + c.LoadBalancer.Scheme + kind + c.LoadBalancer.Name
	case DeleteLoadBalancer:
		return "delete " + balancerText(c.LoadBalancer)
	}
	return describeBalancerSetting(change)
}

func describeBalancerSetting(change Change) string {
	switch c := change.(type) {
	case SetSubnets:
		return "set subnets " + strings.Join(c.Subnets, ", ") + " of " + balancerText(c.LoadBalancer)
	case SetSecurityGroups:
		texts := make([]string, len(c.Groups))
		for i, group := range c.Groups {
			texts[i] = refText(group)
		}
		return "set security groups " + strings.Join(texts, ", ") + " of " + balancerText(c.LoadBalancer)
	case SetAddressType:
		return "set address type " + c.AddressType + " of " + balancerText(c.LoadBalancer)
	case SetLoadBalancerAttributes:
		return "set " + mapText(c.Attributes) + " of " + balancerText(c.LoadBalancer)
	case SetIPAMPool:
		return "take public addresses of " + balancerText(c.LoadBalancer) + " from " + cmp.Or(c.Pool, "Amazon's pool")
	case SetCapacity:
		return fmt.Sprintf("reserve %d capacity units for %s", c.Units, balancerText(c.LoadBalancer))
	}
	return describeGuard(change)
}

func describeGuard(change Change) string {
	switch c := change.(type) {
	case Protect:
		return "protect " + balancerText(c.LoadBalancer) + " by AWS Shield Advanced"
	case Unprotect:
		return "delete protection " + c.ID + " of " + balancerText(c.LoadBalancer)
	case SetWebACL:
		if c.WebACL == "" {
			return "remove the web ACL of " + balancerText(c.LoadBalancer)
		}
		return "set web ACL " + c.WebACL + " of " + balancerText(c.LoadBalancer)
	case SetClassicACL:
		if c.ID == "" {
			return "remove the web ACL of AWS WAF Classic of " + balancerText(c.LoadBalancer)
		}
		return "set web ACL " + c.ID + " of AWS WAF Classic of " + balancerText(c.LoadBalancer)
	}
	return ""
}

func describeListener(change Change) string {
	switch c := change.(type) {
	case CreateListener:
		return fmt.Sprintf("create listener %d: %s, by default %s", c.Listener.Port, c.Listener.Protocol, actionText(c.Listener.Default))
	case ModifyListener:
		return fmt.Sprintf("change listener %d: %s, by default %s", c.To.Port, c.To.Protocol, actionText(c.To.Default))
	case SetListenerAttributes:
		return "set " + mapText(c.Attributes) + " of listener " + c.Listener.Part
	case AddCertificate:
		return "add certificate " + c.Certificate + " to listener " + c.Listener.Part
	case RemoveCertificate:
		return "remove certificate " + c.Certificate + " from listener " + c.Listener.Part
	case DeleteListener:
		return "delete listener " + c.Listener.Part
	}
	return ""
}

func describeRule(change Change) string {
	switch c := change.(type) {
	case CreateRule:
		return "create rule " + c.Part + ": " + ruleText(c.Rule)
	case ModifyRule:
		return "change rule " + c.Rule.Part + ": " + ruleText(c.To)
	case SetPriorities:
		if len(c.Priorities) == 1 {
			return "move 1 rule of listener " + c.Listener.Part
		}
		return fmt.Sprintf("move %d rules of listener %s", len(c.Priorities), c.Listener.Part)
	case DeleteRule:
		return "delete rule " + c.Rule.Part
	}
	return ""
}

var fieldNames = map[string]string{
	"host-header": "host", "path-pattern": "path", "http-request-method": "method", "query-string": "query",
}

// RuleText says in one line what a rule matches, and what it does.
func RuleText(rule stack.Rule) string { return ruleText(rule) }

func ruleText(rule stack.Rule) string {
	var texts []string
	for _, c := range rule.Conditions {
		name := cmp.Or(fieldNames[c.Field], c.Field)
		values := append(slices.Clone(c.Values), c.Regex...)
		for _, parameter := range c.Query {
			values = append(values, strings.TrimPrefix(parameter.Key+"="+parameter.Value, "="))
		}
		if c.Header != "" {
			name = "header " + c.Header
		}
		texts = append(texts, name+" "+strings.Join(values, " or "))
	}
	for _, t := range rule.Transforms {
		texts = append(texts, t.Type)
	}
	return strings.Join(texts, ", ") + " " + actionText(rule.Action)
}

func actionText(action stack.Action) string {
	auth := action.Auth
	switch {
	case auth == nil:
		return answerText(action)
	case auth.Cognito != nil:
		return "after a login at " + auth.Cognito.Domain + " " + answerText(action)
	case auth.OIDC != nil:
		return "after a login at " + auth.OIDC.Issuer + " " + answerText(action)
	}
	return "with a token of " + auth.JWT.Issuer + " " + answerText(action)
}

func answerText(action stack.Action) string {
	switch {
	case action.Forward != nil && len(action.Forward.Groups) == 1:
		return "to target group " + groupText(action.Forward.Groups[0].Group)
	case action.Forward != nil:
		texts := make([]string, len(action.Forward.Groups))
		for i, group := range action.Forward.Groups {
			texts[i] = groupText(group.Group) + " (weight " + strconv.Itoa(int(group.Weight)) + ")"
		}
		return "to target groups " + strings.Join(texts, ", ")
	case action.Redirect != nil:
		r := action.Redirect.Filled()
		text := fmt.Sprintf("redirect to %s://%s:%s%s", r.Protocol, r.Host, r.Port, r.Path)
		if r.Query != "" {
			text += "?" + r.Query
		}
		return text
	case action.Fixed != nil:
		return "answer " + action.Fixed.Status
	}
	return action.Unknown
}
