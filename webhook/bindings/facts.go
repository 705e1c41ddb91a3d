// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/consent"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	// answerWithin limits a review, before the API server gives up after 10 s. askWithin limits each AWS call, before that,
	// so that the error comes from us and names the call.
	answerWithin = 9 * time.Second
	askWithin    = 8 * time.Second

	// factsLife is how long AWS's answers are reused: by the validator after the defaulter, and when the user tries again. Of
	// these facts only those that warnings use can change.
	factsLife = 45 * time.Second
	// refusalLife is how long AWS's refusals are reused. It saves calls for tools that retry all the time, and is shorter than
	// a user needs to fix the cause.
	refusalLife = 5 * time.Second
	// factsKept limits the number of cached target groups, at about 500 bytes each.
	factsKept = 1000
)

// facts caches what AWS says about target groups. Defaulter and validator share it, so that a creation costs one call.
type facts struct {
	clients Clients
	groups  *answerCache[elbv2.TargetGroup] // by ARN
	names   *answerCache[elbv2.TargetGroup] // by name
	delays  *answerCache[time.Duration]     // by ARN
	tags    *answerCache[map[string]string] // by ARN: those of package consent
	policy  consent.Policy
	own     own
}

func newFacts(clients Clients, clk clock.PassiveClock) *facts {
	return &facts{
		clients: clients,
		groups:  newAnswerCache[elbv2.TargetGroup](clk, factsLife, factsKept),
		names:   newAnswerCache[elbv2.TargetGroup](clk, 0, factsKept),
		delays:  newAnswerCache[time.Duration](clk, factsLife, factsKept),
		tags:    newAnswerCache[map[string]string](clk, tagsLife, factsKept),
	}
}

// lookUp returns the target group of the binding. It returns nil if ARN or role are missing or malformed, if the binding may
// not have the group, or if targetgate itself creates the binding. What AWS finds wrong with the user's input is a fault; trouble
// of AWS or ours is an error.
func (f *facts) lookUp(ctx context.Context, req *bindingRequest) (*elbv2.TargetGroup, *field.Error, error) {
	binding, spec := req.binding, &req.binding.Spec
	if f.own.isAuthor(ctx, req.UserInfo.Username) {
		return nil, nil, nil
	}
	if fault := f.roleFault(binding); fault != nil || !askable(spec) {
		return nil, fault, nil
	}
	group, err := f.describe(ctx, binding)
	switch {
	case err == nil:
		return f.consented(ctx, binding, &group)
	case awserr.IsRoleRefused(err):
		return nil, field.Invalid(specPath.Child("iamRoleArnToAssume"), spec.IamRoleArnToAssume, refusal(err)), nil
	case elbv2.IsTargetGroupNotFound(err):
		path, value := groupField(spec)
		fault := field.NotFound(path, value)
		fault.Detail = awserr.Message(err)
		return nil, fault, nil
	case awserr.IsInvalid(err):
		path, value := groupField(spec)
		return nil, field.Invalid(path, value, awserr.Message(err)), nil
	default:
		return nil, nil, err
	}
}

// refusal returns AWS's message. AWS often does not say whose policy refuses, so refusal adds the two candidates.
func refusal(err error) string {
	if awserr.IsInvalid(err) {
		return awserr.Message(err)
	}
	return awserr.Message(err) + ": its trust policy does not allow targetgate, or targetgate's own IAM role may not assume it"
}

func askable(spec *v1beta1.TargetGroupBindingSpec) bool {
	_, known := groupName(spec.TargetGroupARN)
	named := spec.TargetGroupARN == "" && spec.TargetGroupName != ""
	return (known || named) && (spec.IamRoleArnToAssume == "" || roleARNPattern.MatchString(spec.IamRoleArnToAssume))
}

// groupField returns the field that names the group, and its value.
func groupField(spec *v1beta1.TargetGroupBindingSpec) (*field.Path, string) {
	if spec.TargetGroupARN != "" {
		return specPath.Child("targetGroupARN"), spec.TargetGroupARN
	}
	return specPath.Child("targetGroupName"), spec.TargetGroupName
}

// describe returns the group by ARN from the cache, or by name from AWS each time: a name may belong to another group later.
func (f *facts) describe(ctx context.Context, binding *v1beta1.TargetGroupBinding) (elbv2.TargetGroup, error) {
	spec, role, client := &binding.Spec, accounts.RoleOf(binding), f.client(binding)
	if spec.TargetGroupARN != "" {
		return f.groups.get(ctx, groupKey{binding.Namespace, role, spec.TargetGroupARN}, func(ctx context.Context) (elbv2.TargetGroup, error) {
			return client.GroupByARN(ctx, budget.ClassAdmission, spec.TargetGroupARN)
		})
	}
	name := groupKey{binding.Namespace, role, spec.TargetGroupName}
	group, err := f.names.get(ctx, name, func(ctx context.Context) (elbv2.TargetGroup, error) {
		return client.GroupByName(ctx, budget.ClassAdmission, spec.TargetGroupName)
	})
	if err == nil {
		f.groups.put(groupKey{binding.Namespace, role, group.ARN}, group)
	}
	return group, err
}

// deregistrationDelay returns the delay of the binding's group, which is given by its ARN. Only a warning needs it, so the
// call comes after all others.
func (f *facts) deregistrationDelay(ctx context.Context, binding *v1beta1.TargetGroupBinding) (time.Duration, error) {
	role, arn, client := accounts.RoleOf(binding), binding.Spec.TargetGroupARN, f.client(binding)
	return f.delays.get(ctx, groupKey{binding.Namespace, role, arn}, func(ctx context.Context) (time.Duration, error) {
		return client.DeregistrationDelay(ctx, budget.ClassAdmission, arn)
	})
}

// client returns a client that acts as the binding's role and charges its calls to the binding's namespace.
func (f *facts) client(binding *v1beta1.TargetGroupBinding) *elbv2.Client {
	return f.clients.Client(accounts.RoleOf(binding)).For(binding.Namespace)
}

// unbindable returns a fault if the group's targets are neither instances nor addresses.
func unbindable(spec *v1beta1.TargetGroupBindingSpec, group *elbv2.TargetGroup) *field.Error {
	switch v1beta1.TargetType(group.TargetType) {
	case v1beta1.TargetTypeInstance, v1beta1.TargetTypeIP:
		return nil
	}
	path, value := groupField(spec)
	return field.Invalid(path, value,
		fmt.Sprintf("the target group has target type %q, which cannot be bound: only instance and ip can", group.TargetType))
}

// contradictions returns a fault for each field that differs from the target group.
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
	differs("targetType", string(ptr.Deref(spec.TargetType, "")), "target type", group.TargetType)
	differs("ipAddressType", string(ptr.Deref(spec.IPAddressType, "")), "address type", group.IPAddressType)
	differs("vpcID", spec.VpcID, "VPC", group.VpcID)
	differs("targetGroupProtocol", string(ptr.Deref(spec.TargetGroupProtocol, "")), "protocol", group.Protocol)
	if usual := string(spec.Family()); spec.IPAddressType == nil && group.IPAddressType != "" && group.IPAddressType != usual {
		faults = append(faults, field.Required(specPath.Child("ipAddressType"),
			fmt.Sprintf("the target group has address type %q, and the default is %s", group.IPAddressType, usual)))
	}
	return faults
}
