// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/webhook/webhooktest"
)

// oneAccount answers every role with the same client and remembers the roles.
type oneAccount struct {
	client *elbv2.Client

	mu    sync.Mutex
	roles []accounts.Role
}

func (a *oneAccount) Client(role accounts.Role) *elbv2.Client {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.roles = append(a.roles, role)
	return a.client
}

// newAWS knows the target group "web" of type targetType.
func newAWS(targetType elbv2types.TargetTypeEnum) (*oneAccount, *fakeelbv2.API) {
	api := &fakeelbv2.API{}
	api.AddGroup(testGroup(webhooktest.ARN, targetType))
	return &oneAccount{client: elbv2.New(api, budget.New("", nil, clock.RealClock{}))}, api
}

// testGroup is attached to a load balancer, and quick to find a target healthy.
func testGroup(arn string, targetType elbv2types.TargetTypeEnum) elbv2types.TargetGroup {
	return elbv2types.TargetGroup{
		TargetGroupArn: aws.String(arn), TargetGroupName: aws.String("web"), TargetType: targetType,
		Protocol: elbv2types.ProtocolEnumHttp, IpAddressType: elbv2types.TargetGroupIpAddressTypeEnumIpv4,
		VpcId: aws.String("vpc-0123456789abcdef0"), HealthCheckIntervalSeconds: aws.Int32(10), HealthCheckTimeoutSeconds: aws.Int32(5),
		LoadBalancerArns: []string{"arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/web/0"},
	}
}

// testFacts are what a new replica asks, of an AWS that knows the target group "web" of type targetType.
func testFacts(targetType elbv2types.TargetTypeEnum) (*facts, *oneAccount, *fakeelbv2.API) {
	clients, api := newAWS(targetType)
	return newFacts(clients, clock.RealClock{}), clients, api
}

// faultsIn are the faults of a refusal, in full; none of nil.
func faultsIn(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	status, refused := statusOf(err)
	if !refused {
		t.Fatalf("error %v is no refusal", err)
	}
	var out []string
	for _, cause := range status.Details.Causes {
		out = append(out, cause.Field+": "+cause.Message)
	}
	return out
}

func creation(binding *v1beta1.TargetGroupBinding) *bindingRequest {
	return &bindingRequest{Operation: admissionv1.Create, binding: binding}
}

func changed(old, binding *v1beta1.TargetGroupBinding) *bindingRequest {
	return &bindingRequest{Operation: admissionv1.Update, old: old, binding: binding}
}
