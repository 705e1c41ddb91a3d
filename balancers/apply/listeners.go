// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/targetgate/targetgate/balancers/apply/input"
	"github.com/targetgate/targetgate/balancers/steps"
)

func (d *doing) createListener(ctx context.Context, c steps.CreateListener) (Made, error) {
	in, err := input.CreateListener(c)
	if err != nil {
		return Made{}, refuse(err)
	}
	out, err := d.ELB.CreateListener(ctx, in)
	if err != nil {
		return Made{}, err
	}
	if len(out.Listeners) != 1 {
		return Made{}, fmt.Errorf("AWS has answered with %d listeners instead of one", len(out.Listeners))
	}
	return Made{ID: aws.ToString(out.Listeners[0].ListenerArn)}, nil
}

func (d *doing) modifyListener(ctx context.Context, c steps.ModifyListener) error {
	in, err := input.ModifyListener(c)
	if err != nil {
		return refuse(err)
	}
	_, err = d.ELB.ModifyListener(ctx, in)
	return err
}

func (d *doing) setListenerAttributes(ctx context.Context, c steps.SetListenerAttributes) error {
	_, err := d.ELB.ModifyListenerAttributes(ctx, input.ModifyListenerAttributes(c))
	return err
}

func (d *doing) addCertificate(ctx context.Context, c steps.AddCertificate) error {
	_, err := d.ELB.AddListenerCertificates(ctx, &elbv2.AddListenerCertificatesInput{
		ListenerArn: aws.String(c.Listener.ID), Certificates: input.Certificates(c.Certificate),
	})
	return err
}

func (d *doing) removeCertificate(ctx context.Context, c steps.RemoveCertificate) error {
	_, err := d.ELB.RemoveListenerCertificates(ctx, &elbv2.RemoveListenerCertificatesInput{
		ListenerArn: aws.String(c.Listener.ID), Certificates: input.Certificates(c.Certificate),
	})
	return err
}

func (d *doing) deleteListener(ctx context.Context, c steps.DeleteListener) error {
	_, err := d.ELB.DeleteListener(ctx, &elbv2.DeleteListenerInput{ListenerArn: aws.String(c.Listener.ID)})
	return err
}

func (d *doing) createRule(ctx context.Context, c steps.CreateRule) (Made, error) {
	in, err := input.CreateRule(c)
	if err != nil {
		return Made{}, refuse(err)
	}
	out, err := d.ELB.CreateRule(ctx, in)
	if err != nil {
		return Made{}, err
	}
	if len(out.Rules) != 1 {
		return Made{}, fmt.Errorf("AWS has answered with %d rules instead of one", len(out.Rules))
	}
	return Made{ID: aws.ToString(out.Rules[0].RuleArn)}, nil
}

func (d *doing) modifyRule(ctx context.Context, c steps.ModifyRule) error {
	in, err := input.ModifyRule(c)
	if err != nil {
		return refuse(err)
	}
	_, err = d.ELB.ModifyRule(ctx, in)
	return err
}

func (d *doing) setPriorities(ctx context.Context, c steps.SetPriorities) error {
	_, err := d.ELB.SetRulePriorities(ctx, input.SetRulePriorities(c))
	return err
}

func (d *doing) deleteRule(ctx context.Context, c steps.DeleteRule) error {
	_, err := d.ELB.DeleteRule(ctx, &elbv2.DeleteRuleInput{RuleArn: aws.String(c.Rule.ID)})
	return err
}
