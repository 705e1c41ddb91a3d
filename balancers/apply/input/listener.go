// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// CreateListener has the default certificate of those the listener is to have.
func CreateListener(c steps.CreateListener) (*elasticloadbalancingv2.CreateListenerInput, error) {
	actions, err := Actions(c.Listener.Default)
	return &elasticloadbalancingv2.CreateListenerInput{
		LoadBalancerArn: aws.String(c.LoadBalancer.ID),
		Port:            aws.Int32(c.Listener.Port),
		Protocol:        types.ProtocolEnum(c.Listener.Protocol),
		SslPolicy:       some(c.Listener.SSLPolicy),
		Certificates:    defaultCertificate(c.Listener),
		DefaultActions:  actions,
		Tags:            Tags(c.Listener.Tags),

		MutualAuthentication: mutualAuth(c.Listener.MutualAuth),
	}, err
}

// ModifyListener has all that CreateListener has, apart from the tags.
func ModifyListener(c steps.ModifyListener) (*elasticloadbalancingv2.ModifyListenerInput, error) {
	actions, err := Actions(c.To.Default)
	return &elasticloadbalancingv2.ModifyListenerInput{
		ListenerArn:    aws.String(c.Listener.ID),
		Port:           aws.Int32(c.To.Port),
		Protocol:       types.ProtocolEnum(c.To.Protocol),
		SslPolicy:      some(c.To.SSLPolicy),
		Certificates:   defaultCertificate(c.To),
		DefaultActions: actions,

		MutualAuthentication: mutualAuth(c.To.MutualAuth),
	}, err
}

// mutualAuth is nil to leave what there is.
func mutualAuth(m *stack.MutualAuth) *types.MutualAuthenticationAttributes {
	if m == nil {
		return nil
	}
	out := &types.MutualAuthenticationAttributes{Mode: aws.String(m.Mode)}
	if m.Mode != "verify" {
		return out
	}
	out.TrustStoreArn, out.IgnoreClientCertificateExpiry = aws.String(m.TrustStore), aws.Bool(m.IgnoreExpiry)
	out.AdvertiseTrustStoreCaNames = types.AdvertiseTrustStoreCaNamesEnumOff
	if m.AdvertiseNames {
		out.AdvertiseTrustStoreCaNames = types.AdvertiseTrustStoreCaNamesEnumOn
	}
	return out
}

func defaultCertificate(l stack.Listener) []types.Certificate {
	if len(l.Certificates) == 0 {
		return nil
	}
	return Certificates(l.Certificates[0])
}

// Certificates is the one of that ARN.
func Certificates(arn string) []types.Certificate {
	return []types.Certificate{{CertificateArn: aws.String(arn)}}
}

// CreateRule has the priority of the rule.
func CreateRule(c steps.CreateRule) (*elasticloadbalancingv2.CreateRuleInput, error) {
	conditions, err := Conditions(c.Rule.Conditions)
	if err != nil {
		return nil, err
	}
	actions, err := Actions(c.Rule.Action)
	return &elasticloadbalancingv2.CreateRuleInput{
		ListenerArn: aws.String(c.Listener.ID),
		Priority:    aws.Int32(c.Rule.Priority),
		Conditions:  conditions,
		Actions:     actions,
		Transforms:  transforms(c.Rule.Transforms),
		Tags:        Tags(c.Rule.Tags),
	}, err
}

// ModifyRule takes transforms off when none is wanted.
func ModifyRule(c steps.ModifyRule) (*elasticloadbalancingv2.ModifyRuleInput, error) {
	conditions, err := Conditions(c.To.Conditions)
	if err != nil {
		return nil, err
	}
	actions, err := Actions(c.To.Action)
	in := &elasticloadbalancingv2.ModifyRuleInput{
		RuleArn:    aws.String(c.Rule.ID),
		Conditions: conditions,
		Actions:    actions,
		Transforms: transforms(c.To.Transforms),
	}
	if len(in.Transforms) == 0 {
		in.ResetTransforms = aws.Bool(true)
	}
	return in, err
}

// SetRulePriorities is one call for all of them.
func SetRulePriorities(c steps.SetPriorities) *elasticloadbalancingv2.SetRulePrioritiesInput {
	in := &elasticloadbalancingv2.SetRulePrioritiesInput{}
	for _, p := range c.Priorities {
		in.RulePriorities = append(in.RulePriorities, types.RulePriorityPair{RuleArn: aws.String(p.Rule.ID), Priority: aws.Int32(p.Priority)})
	}
	return in
}
