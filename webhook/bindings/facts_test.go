// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"
	"testing"

	awselbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/webhook/webhooktest"
)

// chargedAPI remembers to what the last description was charged.
type chargedAPI struct {
	fakeelbv2.API
	charge budget.Charge
}

func (a *chargedAPI) DescribeTargetGroups(
	ctx context.Context, in *awselbv2.DescribeTargetGroupsInput, options ...func(*awselbv2.Options),
) (*awselbv2.DescribeTargetGroupsOutput, error) {
	a.charge = budget.ChargeOf(ctx)
	return a.API.DescribeTargetGroups(ctx, in, options...)
}

// The budget lets namespaces take turns, so one that asks for many groups keeps no other one waiting.
func TestFactsChargeCallsToTheNamespace(t *testing.T) {
	api := &chargedAPI{}
	api.AddGroup(testGroup(webhooktest.ARN, elbv2types.TargetTypeEnumIp))
	facts := newFacts(&oneAccount{client: elbv2.New(api, budget.New("", nil, clock.RealClock{}))}, clock.RealClock{})
	if _, err := facts.describe(t.Context(), webhooktest.NewBinding("web")); err != nil {
		t.Fatal(err)
	}
	if api.charge.Tenant != "shop" || api.charge.Class != budget.ClassAdmission {
		t.Errorf("charged to %q of class %s, want the binding's namespace as a lookup for a user", api.charge.Tenant, api.charge.Class)
	}
}
