// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/apply/input"
	"github.com/targetgate/targetgate/balancers/steps"
)

// listeners does the changes of listeners and their certificates.
type listeners struct{ Listeners }

func (l listeners) create(ctx context.Context, c steps.CreateListener) (steps.Made, error) {
	in, err := input.CreateListener(c)
	if err != nil {
		return steps.Made{}, refuse(err)
	}
	out, err := l.CreateListener(ctx, in)
	if err != nil {
		return steps.Made{}, err
	}
	made, err := only(out.Listeners, "listeners")
	return steps.Made{ID: aws.ToString(made.ListenerArn)}, err
}

func (l listeners) modify(ctx context.Context, c steps.ModifyListener) error {
	in, err := input.ModifyListener(c)
	if err != nil {
		return refuse(err)
	}
	_, err = l.ModifyListener(ctx, in)
	return err
}

func (l listeners) setAttributes(ctx context.Context, c steps.SetListenerAttributes) error {
	return setKinds(c.Attributes, func(some map[string]string) error {
		c.Attributes = some
		_, err := l.ModifyListenerAttributes(ctx, input.ModifyListenerAttributes(c))
		return err
	})
}

func (l listeners) addCertificate(ctx context.Context, c steps.AddCertificate) error {
	_, err := l.AddListenerCertificates(ctx, &elbv2.AddListenerCertificatesInput{
		ListenerArn: aws.String(c.Listener.ID), Certificates: input.Certificates(c.Certificate),
	})
	return err
}

func (l listeners) removeCertificate(ctx context.Context, c steps.RemoveCertificate) error {
	_, err := l.RemoveListenerCertificates(ctx, &elbv2.RemoveListenerCertificatesInput{
		ListenerArn: aws.String(c.Listener.ID), Certificates: input.Certificates(c.Certificate),
	})
	if awserr.HasCode(err, "OperationNotPermitted") { // it is the default one, and not in the list for SNI any more
		return nil
	}
	return err
}

func (l listeners) delete(ctx context.Context, c steps.DeleteListener) error {
	_, err := l.DeleteListener(ctx, &elbv2.DeleteListenerInput{ListenerArn: aws.String(c.Listener.ID)})
	return err
}

// rules does the changes of rules.
type rules struct{ Rules }

func (r rules) create(ctx context.Context, c steps.CreateRule) (steps.Made, error) {
	in, err := input.CreateRule(c)
	if err != nil {
		return steps.Made{}, refuse(err)
	}
	out, err := r.CreateRule(ctx, in)
	if err != nil {
		return steps.Made{}, err
	}
	made, err := only(out.Rules, "rules")
	return steps.Made{ID: aws.ToString(made.RuleArn)}, err
}

func (r rules) modify(ctx context.Context, c steps.ModifyRule) error {
	in, err := input.ModifyRule(c)
	if err != nil {
		return refuse(err)
	}
	_, err = r.ModifyRule(ctx, in)
	return err
}

func (r rules) setPriorities(ctx context.Context, c steps.SetPriorities) error {
	_, err := r.SetRulePriorities(ctx, input.SetRulePriorities(c))
	return err
}

func (r rules) delete(ctx context.Context, c steps.DeleteRule) error {
	_, err := r.DeleteRule(ctx, &elbv2.DeleteRuleInput{RuleArn: aws.String(c.Rule.ID)})
	return err
}
