// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"context"

	awselbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
)

// CreateListener makes a listener.
func (p *Provisioner) CreateListener(ctx context.Context, in *awselbv2.CreateListenerInput) (
	*awselbv2.CreateListenerOutput, error,
) {
	return call(ctx, p, "creating listener of load balancer", in.LoadBalancerArn, (*awselbv2.Client).CreateListener, in)
}

// ModifyListener replaces what is named of a listener.
func (p *Provisioner) ModifyListener(ctx context.Context, in *awselbv2.ModifyListenerInput) (
	*awselbv2.ModifyListenerOutput, error,
) {
	return call(ctx, p, "modifying listener", in.ListenerArn, (*awselbv2.Client).ModifyListener, in)
}

// ModifyListenerAttributes sets the attributes that are named.
func (p *Provisioner) ModifyListenerAttributes(ctx context.Context, in *awselbv2.ModifyListenerAttributesInput) (
	*awselbv2.ModifyListenerAttributesOutput, error,
) {
	return call(ctx, p, "modifying attributes of listener", in.ListenerArn, (*awselbv2.Client).ModifyListenerAttributes, in)
}

// AddListenerCertificates adds certificates for SNI.
func (p *Provisioner) AddListenerCertificates(ctx context.Context, in *awselbv2.AddListenerCertificatesInput) (
	*awselbv2.AddListenerCertificatesOutput, error,
) {
	return call(ctx, p, "adding certificates to listener", in.ListenerArn, (*awselbv2.Client).AddListenerCertificates, in)
}

// RemoveListenerCertificates removes certificates for SNI.
func (p *Provisioner) RemoveListenerCertificates(ctx context.Context, in *awselbv2.RemoveListenerCertificatesInput) (
	*awselbv2.RemoveListenerCertificatesOutput, error,
) {
	return call(ctx, p, "removing certificates from listener", in.ListenerArn, (*awselbv2.Client).RemoveListenerCertificates, in)
}

// DeleteListener deletes a listener with its rules.
func (p *Provisioner) DeleteListener(ctx context.Context, in *awselbv2.DeleteListenerInput) (
	*awselbv2.DeleteListenerOutput, error,
) {
	return call(ctx, p, "deleting listener", in.ListenerArn, (*awselbv2.Client).DeleteListener, in)
}

// CreateRule makes a rule.
func (p *Provisioner) CreateRule(ctx context.Context, in *awselbv2.CreateRuleInput) (
	*awselbv2.CreateRuleOutput, error,
) {
	return call(ctx, p, "creating rule of listener", in.ListenerArn, (*awselbv2.Client).CreateRule, in)
}

// ModifyRule replaces what is named of a rule.
func (p *Provisioner) ModifyRule(ctx context.Context, in *awselbv2.ModifyRuleInput) (
	*awselbv2.ModifyRuleOutput, error,
) {
	return call(ctx, p, "modifying rule", in.RuleArn, (*awselbv2.Client).ModifyRule, in)
}

// SetRulePriorities moves rules of one listener, all or none.
func (p *Provisioner) SetRulePriorities(ctx context.Context, in *awselbv2.SetRulePrioritiesInput) (
	*awselbv2.SetRulePrioritiesOutput, error,
) {
	return call(ctx, p, "setting priorities of rules", nil, (*awselbv2.Client).SetRulePriorities, in)
}

// DeleteRule deletes a rule.
func (p *Provisioner) DeleteRule(ctx context.Context, in *awselbv2.DeleteRuleInput) (
	*awselbv2.DeleteRuleOutput, error,
) {
	return call(ctx, p, "deleting rule", in.RuleArn, (*awselbv2.Client).DeleteRule, in)
}
