// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/smithy-go"

	"github.com/targetgate/targetgate/aws/ec2"
)

// fakeAWS answers each call by its name and what it is about, such as "CreateRule 7": with an error, or an answer, or nothing in it.
type fakeAWS struct {
	calls   []string
	inputs  []any
	errs    map[string]error
	answers map[string]any
}

func (f *fakeAWS) clients() Calls { return Calls{ELB: f, EC2: f, WAF: f, WAFClassic: f} }

func answer[Out any](f *fakeAWS, in any, operation, about string) (*Out, error) {
	call := operation + " " + about
	f.calls, f.inputs = append(f.calls, call), append(f.inputs, in)
	if err := f.errs[call]; err != nil {
		return nil, err
	}
	if out, ok := f.answers[call]; ok {
		return out.(*Out), nil
	}
	return new(Out), nil
}

// refusal is AWS's with that code.
func refusal(code string) error {
	return &smithy.GenericAPIError{Code: code, Message: "no", Fault: smithy.FaultClient}
}

func first(lists ...[]string) string {
	for _, list := range lists {
		if len(list) > 0 {
			return list[0]
		}
	}
	return ""
}

func priorities(in *elbv2.SetRulePrioritiesInput) string {
	var out []string
	for _, p := range in.RulePriorities {
		out = append(out, fmt.Sprintf("%s=%d", *p.RuleArn, *p.Priority))
	}
	return strings.Join(out, " ")
}

func (f *fakeAWS) Authorize(_ context.Context, group string, rules []ec2.Permission) error {
	_, err := answer[struct{}](f, rules, "Authorize", group)
	return err
}

func (f *fakeAWS) Revoke(_ context.Context, group string, rules []ec2.Permission) error {
	_, err := answer[struct{}](f, rules, "Revoke", group)
	return err
}

func (f *fakeAWS) Associate(_ context.Context, balancer, acl string) error {
	_, err := answer[struct{}](f, acl, "Associate", balancer)
	return err
}

func (f *fakeAWS) Disassociate(_ context.Context, balancer string) error {
	_, err := answer[struct{}](f, "", "Disassociate", balancer)
	return err
}

func (f *fakeAWS) DescribeLoadBalancers(_ context.Context, in *elbv2.DescribeLoadBalancersInput) (*elbv2.DescribeLoadBalancersOutput, error) {
	return answer[elbv2.DescribeLoadBalancersOutput](f, in, "DescribeLoadBalancers", first(in.Names, in.LoadBalancerArns))
}

func (f *fakeAWS) CreateLoadBalancer(_ context.Context, in *elbv2.CreateLoadBalancerInput) (*elbv2.CreateLoadBalancerOutput, error) {
	return answer[elbv2.CreateLoadBalancerOutput](f, in, "CreateLoadBalancer", *in.Name)
}

func (f *fakeAWS) SetSubnets(_ context.Context, in *elbv2.SetSubnetsInput) (*elbv2.SetSubnetsOutput, error) {
	return answer[elbv2.SetSubnetsOutput](f, in, "SetSubnets", *in.LoadBalancerArn)
}

func (f *fakeAWS) SetSecurityGroups(_ context.Context, in *elbv2.SetSecurityGroupsInput) (*elbv2.SetSecurityGroupsOutput, error) {
	return answer[elbv2.SetSecurityGroupsOutput](f, in, "SetSecurityGroups", *in.LoadBalancerArn)
}

func (f *fakeAWS) SetIpAddressType( //nolint:revive // the SDK's name
	_ context.Context, in *elbv2.SetIpAddressTypeInput,
) (*elbv2.SetIpAddressTypeOutput, error) {
	return answer[elbv2.SetIpAddressTypeOutput](f, in, "SetIpAddressType", *in.LoadBalancerArn)
}

func (f *fakeAWS) ModifyLoadBalancerAttributes(_ context.Context, in *elbv2.ModifyLoadBalancerAttributesInput) (*elbv2.ModifyLoadBalancerAttributesOutput, error) {
	return answer[elbv2.ModifyLoadBalancerAttributesOutput](f, in, "ModifyLoadBalancerAttributes", *in.LoadBalancerArn)
}

func (f *fakeAWS) ModifyIpPools(_ context.Context, in *elbv2.ModifyIpPoolsInput) (*elbv2.ModifyIpPoolsOutput, error) { //nolint:revive // the SDK's name
	return answer[elbv2.ModifyIpPoolsOutput](f, in, "ModifyIpPools", *in.LoadBalancerArn)
}

func (f *fakeAWS) ModifyCapacityReservation(_ context.Context, in *elbv2.ModifyCapacityReservationInput) (*elbv2.ModifyCapacityReservationOutput, error) {
	return answer[elbv2.ModifyCapacityReservationOutput](f, in, "ModifyCapacityReservation", *in.LoadBalancerArn)
}

func (f *fakeAWS) DeleteLoadBalancer(_ context.Context, in *elbv2.DeleteLoadBalancerInput) (*elbv2.DeleteLoadBalancerOutput, error) {
	return answer[elbv2.DeleteLoadBalancerOutput](f, in, "DeleteLoadBalancer", *in.LoadBalancerArn)
}

func (f *fakeAWS) CreateListener(_ context.Context, in *elbv2.CreateListenerInput) (*elbv2.CreateListenerOutput, error) {
	return answer[elbv2.CreateListenerOutput](f, in, "CreateListener", strconv.Itoa(int(*in.Port)))
}

func (f *fakeAWS) ModifyListener(_ context.Context, in *elbv2.ModifyListenerInput) (*elbv2.ModifyListenerOutput, error) {
	return answer[elbv2.ModifyListenerOutput](f, in, "ModifyListener", *in.ListenerArn)
}

func (f *fakeAWS) ModifyListenerAttributes(_ context.Context, in *elbv2.ModifyListenerAttributesInput) (*elbv2.ModifyListenerAttributesOutput, error) {
	return answer[elbv2.ModifyListenerAttributesOutput](f, in, "ModifyListenerAttributes", *in.ListenerArn)
}

func (f *fakeAWS) AddListenerCertificates(_ context.Context, in *elbv2.AddListenerCertificatesInput) (*elbv2.AddListenerCertificatesOutput, error) {
	return answer[elbv2.AddListenerCertificatesOutput](f, in, "AddListenerCertificates", *in.Certificates[0].CertificateArn)
}

func (f *fakeAWS) RemoveListenerCertificates(_ context.Context, in *elbv2.RemoveListenerCertificatesInput) (*elbv2.RemoveListenerCertificatesOutput, error) {
	return answer[elbv2.RemoveListenerCertificatesOutput](f, in, "RemoveListenerCertificates", *in.Certificates[0].CertificateArn)
}

func (f *fakeAWS) DeleteListener(_ context.Context, in *elbv2.DeleteListenerInput) (*elbv2.DeleteListenerOutput, error) {
	return answer[elbv2.DeleteListenerOutput](f, in, "DeleteListener", *in.ListenerArn)
}

func (f *fakeAWS) CreateRule(_ context.Context, in *elbv2.CreateRuleInput) (*elbv2.CreateRuleOutput, error) {
	return answer[elbv2.CreateRuleOutput](f, in, "CreateRule", strconv.Itoa(int(*in.Priority)))
}

func (f *fakeAWS) ModifyRule(_ context.Context, in *elbv2.ModifyRuleInput) (*elbv2.ModifyRuleOutput, error) {
	return answer[elbv2.ModifyRuleOutput](f, in, "ModifyRule", *in.RuleArn)
}

func (f *fakeAWS) SetRulePriorities(_ context.Context, in *elbv2.SetRulePrioritiesInput) (*elbv2.SetRulePrioritiesOutput, error) {
	return answer[elbv2.SetRulePrioritiesOutput](f, in, "SetRulePriorities", priorities(in))
}

func (f *fakeAWS) DeleteRule(_ context.Context, in *elbv2.DeleteRuleInput) (*elbv2.DeleteRuleOutput, error) {
	return answer[elbv2.DeleteRuleOutput](f, in, "DeleteRule", *in.RuleArn)
}

func (f *fakeAWS) DescribeTargetGroups(_ context.Context, in *elbv2.DescribeTargetGroupsInput) (*elbv2.DescribeTargetGroupsOutput, error) {
	return answer[elbv2.DescribeTargetGroupsOutput](f, in, "DescribeTargetGroups", in.Names[0])
}

func (f *fakeAWS) RegisterTargets(_ context.Context, in *elbv2.RegisterTargetsInput) (*elbv2.RegisterTargetsOutput, error) {
	return answer[elbv2.RegisterTargetsOutput](f, in, "RegisterTargets", *in.TargetGroupArn)
}

func (f *fakeAWS) DescribeTargetHealth(_ context.Context, in *elbv2.DescribeTargetHealthInput) (*elbv2.DescribeTargetHealthOutput, error) {
	return answer[elbv2.DescribeTargetHealthOutput](f, in, "DescribeTargetHealth", *in.TargetGroupArn)
}

func (f *fakeAWS) CreateTargetGroup(_ context.Context, in *elbv2.CreateTargetGroupInput) (*elbv2.CreateTargetGroupOutput, error) {
	return answer[elbv2.CreateTargetGroupOutput](f, in, "CreateTargetGroup", *in.Name)
}

func (f *fakeAWS) ModifyTargetGroup(_ context.Context, in *elbv2.ModifyTargetGroupInput) (*elbv2.ModifyTargetGroupOutput, error) {
	return answer[elbv2.ModifyTargetGroupOutput](f, in, "ModifyTargetGroup", *in.TargetGroupArn)
}

func (f *fakeAWS) ModifyTargetGroupAttributes(_ context.Context, in *elbv2.ModifyTargetGroupAttributesInput) (*elbv2.ModifyTargetGroupAttributesOutput, error) {
	return answer[elbv2.ModifyTargetGroupAttributesOutput](f, in, "ModifyTargetGroupAttributes", *in.TargetGroupArn)
}

func (f *fakeAWS) DeleteTargetGroup(_ context.Context, in *elbv2.DeleteTargetGroupInput) (*elbv2.DeleteTargetGroupOutput, error) {
	return answer[elbv2.DeleteTargetGroupOutput](f, in, "DeleteTargetGroup", *in.TargetGroupArn)
}

func (f *fakeAWS) AddTags(_ context.Context, in *elbv2.AddTagsInput) (*elbv2.AddTagsOutput, error) {
	return answer[elbv2.AddTagsOutput](f, in, "AddTags", in.ResourceArns[0])
}

func (f *fakeAWS) RemoveTags(_ context.Context, in *elbv2.RemoveTagsInput) (*elbv2.RemoveTagsOutput, error) {
	return answer[elbv2.RemoveTagsOutput](f, in, "RemoveTags", in.ResourceArns[0])
}

func (f *fakeAWS) DescribeTags(_ context.Context, in *elbv2.DescribeTagsInput) (*elbv2.DescribeTagsOutput, error) {
	return answer[elbv2.DescribeTagsOutput](f, in, "DescribeTags", in.ResourceArns[0])
}

func (f *fakeAWS) DescribeSecurityGroups(_ context.Context, in *awsec2.DescribeSecurityGroupsInput) (*awsec2.DescribeSecurityGroupsOutput, error) {
	return answer[awsec2.DescribeSecurityGroupsOutput](f, in, "DescribeSecurityGroups", in.Filters[0].Values[0])
}

func (f *fakeAWS) CreateSecurityGroup(_ context.Context, in *awsec2.CreateSecurityGroupInput) (*awsec2.CreateSecurityGroupOutput, error) {
	return answer[awsec2.CreateSecurityGroupOutput](f, in, "CreateSecurityGroup", *in.GroupName)
}

func (f *fakeAWS) DeleteSecurityGroup(_ context.Context, in *awsec2.DeleteSecurityGroupInput) (*awsec2.DeleteSecurityGroupOutput, error) {
	return answer[awsec2.DeleteSecurityGroupOutput](f, in, "DeleteSecurityGroup", *in.GroupId)
}

func (f *fakeAWS) CreateTags(_ context.Context, in *awsec2.CreateTagsInput) (*awsec2.CreateTagsOutput, error) {
	return answer[awsec2.CreateTagsOutput](f, in, "CreateTags", in.Resources[0])
}

func (f *fakeAWS) DeleteTags(_ context.Context, in *awsec2.DeleteTagsInput) (*awsec2.DeleteTagsOutput, error) {
	return answer[awsec2.DeleteTagsOutput](f, in, "DeleteTags", in.Resources[0])
}
