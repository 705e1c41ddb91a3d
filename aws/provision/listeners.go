// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package provision

import (
	"context"

	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/targetgate/targetgate/aws/accounts"
)

// CreateListener makes a listener.
func (e *ELB) CreateListener(ctx context.Context, in *elbv2.CreateListenerInput) (
	*elbv2.CreateListenerOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("creating listener of load balancer", in.LoadBalancerArn),
		(*elbv2.Client).CreateListener, in)
}

// ModifyListener replaces what is named of a listener.
func (e *ELB) ModifyListener(ctx context.Context, in *elbv2.ModifyListenerInput) (
	*elbv2.ModifyListenerOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("modifying listener", in.ListenerArn), (*elbv2.Client).ModifyListener, in)
}

// ModifyListenerAttributes sets the attributes that are named.
func (e *ELB) ModifyListenerAttributes(ctx context.Context, in *elbv2.ModifyListenerAttributesInput) (
	*elbv2.ModifyListenerAttributesOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("modifying attributes of listener", in.ListenerArn),
		(*elbv2.Client).ModifyListenerAttributes, in)
}

// AddListenerCertificates adds certificates for SNI.
func (e *ELB) AddListenerCertificates(ctx context.Context, in *elbv2.AddListenerCertificatesInput) (
	*elbv2.AddListenerCertificatesOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("adding certificates to listener", in.ListenerArn),
		(*elbv2.Client).AddListenerCertificates, in)
}

// RemoveListenerCertificates removes certificates for SNI.
func (e *ELB) RemoveListenerCertificates(ctx context.Context, in *elbv2.RemoveListenerCertificatesInput) (
	*elbv2.RemoveListenerCertificatesOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("removing certificates from listener", in.ListenerArn),
		(*elbv2.Client).RemoveListenerCertificates, in)
}

// DeleteListener deletes a listener with its rules.
func (e *ELB) DeleteListener(ctx context.Context, in *elbv2.DeleteListenerInput) (
	*elbv2.DeleteListenerOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("deleting listener", in.ListenerArn), (*elbv2.Client).DeleteListener, in)
}

// CreateRule makes a rule.
func (e *ELB) CreateRule(ctx context.Context, in *elbv2.CreateRuleInput) (
	*elbv2.CreateRuleOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("creating rule of listener", in.ListenerArn), (*elbv2.Client).CreateRule, in)
}

// ModifyRule replaces what is named of a rule.
func (e *ELB) ModifyRule(ctx context.Context, in *elbv2.ModifyRuleInput) (
	*elbv2.ModifyRuleOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("modifying rule", in.RuleArn), (*elbv2.Client).ModifyRule, in)
}

// SetRulePriorities moves rules of one listener, all or none.
func (e *ELB) SetRulePriorities(ctx context.Context, in *elbv2.SetRulePrioritiesInput) (
	*elbv2.SetRulePrioritiesOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("setting priorities of rules", nil), (*elbv2.Client).SetRulePriorities, in)
}

// DeleteRule deletes a rule.
func (e *ELB) DeleteRule(ctx context.Context, in *elbv2.DeleteRuleInput) (
	*elbv2.DeleteRuleOutput, error,
) {
	return accounts.Call(ctx, e.calls, about("deleting rule", in.RuleArn), (*elbv2.Client).DeleteRule, in)
}
