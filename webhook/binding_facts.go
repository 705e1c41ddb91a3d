// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/targets/consent"
	"github.com/targetgate/targetgate/targets/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	// answerWithin ends everything that a binding waits for before the API server gives up on us after 10 s, and askWithin
	// each call of AWS's before that, so that the error is ours to tell and names the call.
	answerWithin = 9 * time.Second
	askWithin    = 8 * time.Second

	// factsLife is how long the answers of AWS are used again: for the validator after the defaulter, and for a user who
	// tries again. Of what is kept only what warnings are about can change.
	factsLife = 45 * time.Second
	// refusalLife is how long a refusal of AWS's is: a tool that tries again and again costs a call each time, and a user who
	// has mended it needs longer to say so.
	refusalLife = 5 * time.Second
	// factsKept bounds how many target groups are remembered, at some 500 bytes each.
	factsKept = 1000
)

// facts tell what AWS knows of target groups. Defaulter and validator share them, so that a creation costs one call.
type facts struct {
	accounts Accounts
	groups   *memo[elbv2.TargetGroup] // by ARN
	names    *memo[elbv2.TargetGroup] // by name
	delays   *memo[time.Duration]     // by ARN
	tags     *memo[groupTag]          // by ARN
	policy   consent.Policy
}

func newFacts(accounts Accounts, clk clock.PassiveClock) *facts {
	return &facts{
		accounts: accounts,
		groups:   newMemo[elbv2.TargetGroup](clk, factsLife, factsKept),
		names:    newMemo[elbv2.TargetGroup](clk, 0, factsKept),
		delays:   newMemo[time.Duration](clk, factsLife, factsKept),
		tags:     newMemo[groupTag](clk, tagsLife, factsKept),
	}
}

// lookUp finds the target group of a binding. It is nil where there is nothing to ask AWS for, as ARN or role are missing or
// none, and where the binding may not have it. What AWS finds wrong with the user's words is a fault, what is wrong with AWS or with
// us an error.
func (f *facts) lookUp(ctx context.Context, binding *v1beta1.TargetGroupBinding) (*elbv2.TargetGroup, *field.Error, error) {
	spec := &binding.Spec
	if fault := f.roleFault(binding); fault != nil || !askable(spec) {
		return nil, fault, nil
	}
	group, err := f.describe(ctx, binding)
	switch {
	case err == nil:
		return f.consented(ctx, binding, &group)
	case elbv2.IsRoleRefused(err):
		return nil, field.Invalid(specPath.Child("iamRoleArnToAssume"), spec.IamRoleArnToAssume, refusal(err)), nil
	case elbv2.IsTargetGroupNotFound(err), elbv2.IsInvalid(err):
		path, value := groupField(spec)
		return nil, field.Invalid(path, value, elbv2.Message(err)), nil
	default:
		return nil, nil, err
	}
}

// refusal is AWS's, which often does not say whose policy it is that stands in the way.
func refusal(err error) string {
	if elbv2.IsInvalid(err) {
		return elbv2.Message(err)
	}
	return elbv2.Message(err) + ": its trust policy does not allow targetgate, or targetgate's own IAM role may not assume it"
}

func askable(spec *v1beta1.TargetGroupBindingSpec) bool {
	_, known := groupName(spec.TargetGroupARN)
	named := spec.TargetGroupARN == "" && spec.TargetGroupName != ""
	return (known || named) && (spec.IamRoleArnToAssume == "" || roleARNPattern.MatchString(spec.IamRoleArnToAssume))
}

// groupField is the field that says which group is meant.
func groupField(spec *v1beta1.TargetGroupBindingSpec) (*field.Path, string) {
	if spec.TargetGroupARN != "" {
		return specPath.Child("targetGroupARN"), spec.TargetGroupARN
	}
	return specPath.Child("targetGroupName"), spec.TargetGroupName
}

// describe asks AWS for a name's group each time: a second later it may be another one's.
func (f *facts) describe(ctx context.Context, binding *v1beta1.TargetGroupBinding) (elbv2.TargetGroup, error) {
	spec, role, client := &binding.Spec, roleOf(binding), f.client(binding)
	if spec.TargetGroupARN != "" {
		return f.groups.get(ctx, groupKey{binding.Namespace, role, spec.TargetGroupARN}, func(ctx context.Context) (elbv2.TargetGroup, error) {
			return client.GroupByARN(ctx, elbv2.ClassAdmission, spec.TargetGroupARN)
		})
	}
	name := groupKey{binding.Namespace, role, spec.TargetGroupName}
	group, err := f.names.get(ctx, name, func(ctx context.Context) (elbv2.TargetGroup, error) {
		return client.GroupByName(ctx, elbv2.ClassAdmission, spec.TargetGroupName)
	})
	if err == nil {
		f.groups.put(groupKey{binding.Namespace, role, group.ARN}, group)
	}
	return group, err
}

// deregistrationDelay is that of the binding's group, which is given by its ARN. Only a warning needs it: the call comes
// after all others.
func (f *facts) deregistrationDelay(ctx context.Context, binding *v1beta1.TargetGroupBinding) (time.Duration, error) {
	role, arn, client := roleOf(binding), binding.Spec.TargetGroupARN, f.client(binding)
	return f.delays.get(ctx, groupKey{binding.Namespace, role, arn}, func(ctx context.Context) (time.Duration, error) {
		return client.DeregistrationDelay(ctx, elbv2.ClassAdmission, arn)
	})
}

// client acts as the binding's role, and charges its calls to the binding's namespace.
func (f *facts) client(binding *v1beta1.TargetGroupBinding) *elbv2.Client {
	return f.accounts.Client(roleOf(binding)).For(binding.Namespace)
}

// roleOf is the role to ask AWS with, which is told for which binding: the answer for one need not be that for another. The
// program's own identity is the same for all.
func roleOf(binding *v1beta1.TargetGroupBinding) elbv2.Role {
	spec := &binding.Spec
	if spec.IamRoleArnToAssume == "" {
		return elbv2.Role{}
	}
	return elbv2.Role{
		ARN: spec.IamRoleArnToAssume, ExternalID: spec.AssumeRoleExternalId, Namespace: binding.Namespace, Binding: binding.Name,
	}
}

// unbindable is the fault of a group that has neither instances nor addresses for targets.
func unbindable(spec *v1beta1.TargetGroupBindingSpec, group *elbv2.TargetGroup) *field.Error {
	switch v1beta1.TargetType(group.TargetType) {
	case v1beta1.TargetTypeInstance, v1beta1.TargetTypeIP:
		return nil
	}
	path, value := groupField(spec)
	return field.Invalid(path, value,
		fmt.Sprintf("the target group has target type %q, which cannot be bound: only instance and ip can", group.TargetType))
}

// contradictions are the fields that say something else than the target group does.
func contradictions(spec *v1beta1.TargetGroupBindingSpec, group *elbv2.TargetGroup) field.ErrorList {
	var faults field.ErrorList
	if fault := unbindable(spec, group); fault != nil {
		return append(faults, fault)
	}
	differs := func(name, ours, what, theirs string) {
		if ours != "" && theirs != "" && ours != theirs {
			faults = append(faults, field.Invalid(specPath.Child(name), ours, fmt.Sprintf("the target group has %s %q", what, theirs)))
		}
	}
	differs("targetType", string(valueOf(spec.TargetType)), "target type", group.TargetType)
	differs("ipAddressType", string(valueOf(spec.IPAddressType)), "address type", group.IPAddressType)
	differs("vpcID", spec.VpcID, "VPC", group.VpcID)
	differs("targetGroupProtocol", string(valueOf(spec.TargetGroupProtocol)), "protocol", group.Protocol)
	if spec.IPAddressType == nil && group.IPAddressType == string(v1beta1.IPAddressTypeIPv6) {
		faults = append(faults, field.Required(specPath.Child("ipAddressType"),
			"the target group has address type \"ipv6\", and the default is ipv4"))
	}
	return faults
}
