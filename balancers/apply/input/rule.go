// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/balancers/stack"
)

// The fields of conditions.
const (
	hostHeader  = "host-header"
	pathPattern = "path-pattern"
	httpHeader  = "http-header"
	httpMethod  = "http-request-method"
	queryString = "query-string"
	sourceIP    = "source-ip"
)

// Conditions are those of a rule, in their order. The error names a field that there is not.
func Conditions(conditions []stack.Condition) ([]types.RuleCondition, error) {
	out := make([]types.RuleCondition, 0, len(conditions))
	for _, c := range conditions {
		condition, err := condition(c)
		if err != nil {
			return nil, err
		}
		out = append(out, condition)
	}
	return out, nil
}

func condition(c stack.Condition) (types.RuleCondition, error) {
	out := types.RuleCondition{Field: aws.String(c.Field)}
	switch c.Field {
	case hostHeader:
		out.HostHeaderConfig = &types.HostHeaderConditionConfig{Values: c.Values, RegexValues: c.Regex}
	case pathPattern:
		out.PathPatternConfig = &types.PathPatternConditionConfig{Values: c.Values, RegexValues: c.Regex}
	case httpHeader:
		out.HttpHeaderConfig = &types.HttpHeaderConditionConfig{
			HttpHeaderName: aws.String(c.Header), Values: c.Values, RegexValues: c.Regex,
		}
	case httpMethod:
		out.HttpRequestMethodConfig = &types.HttpRequestMethodConditionConfig{Values: c.Values}
	case queryString:
		out.QueryStringConfig = &types.QueryStringConditionConfig{Values: parameters(c.Query)}
	case sourceIP:
		out.SourceIpConfig = &types.SourceIpConditionConfig{Values: c.Values}
	default:
		return types.RuleCondition{}, fmt.Errorf("a condition of field %q cannot be written", c.Field)
	}
	return out, nil
}

func parameters(query []stack.Parameter) (out []types.QueryStringKeyValuePair) {
	for _, p := range query {
		out = append(out, types.QueryStringKeyValuePair{Key: some(p.Key), Value: aws.String(p.Value)})
	}
	return out
}

// Actions are those of a rule or listener. The error says of one that is seen that it cannot be written.
func Actions(action stack.Action) ([]types.Action, error) {
	out := types.Action{Order: aws.Int32(1)}
	switch {
	case action.Forward != nil:
		out.Type, out.ForwardConfig = types.ActionTypeEnumForward, forward(*action.Forward)
	case action.Redirect != nil:
		out.Type, out.RedirectConfig = types.ActionTypeEnumRedirect, redirect(*action.Redirect)
	case action.Fixed != nil:
		out.Type, out.FixedResponseConfig = types.ActionTypeEnumFixedResponse, &types.FixedResponseActionConfig{
			StatusCode: aws.String(action.Fixed.Status), ContentType: some(action.Fixed.ContentType), MessageBody: some(action.Fixed.Body),
		}
	default:
		return nil, fmt.Errorf("the action %q cannot be written", action.Unknown)
	}
	if action.Auth == nil {
		return []types.Action{out}, nil
	}
	out.Order = aws.Int32(2)
	return []types.Action{auth(*action.Auth), out}, nil
}

// forward has the weight of a single target group only where that is not 1, which AWS fills in.
func forward(f stack.Forward) *types.ForwardActionConfig {
	out := &types.ForwardActionConfig{}
	for _, g := range f.Groups {
		tuple := types.TargetGroupTuple{TargetGroupArn: aws.String(g.Group.ID)}
		if len(f.Groups) > 1 || g.Weight != 1 {
			tuple.Weight = aws.Int32(g.Weight)
		}
		out.TargetGroups = append(out.TargetGroups, tuple)
	}
	if seconds := max(f.Sticky, f.StickyOff); seconds > 0 {
		out.TargetGroupStickinessConfig = &types.TargetGroupStickinessConfig{
			Enabled: aws.Bool(f.Sticky > 0), DurationSeconds: aws.Int32(seconds),
		}
	}
	return out
}

// redirect has the query also when it is empty, which drops the client's.
func redirect(r stack.Redirect) *types.RedirectActionConfig {
	return &types.RedirectActionConfig{
		Protocol: some(r.Protocol), Host: some(r.Host), Port: some(r.Port), Path: some(r.Path), Query: aws.String(r.Query),
		StatusCode: types.RedirectActionStatusCodeEnum(r.Status),
	}
}

// Tags are in the order of their keys.
func Tags(tags map[string]string) (out []types.Tag) {
	for key, value := range sorted(tags) {
		out = append(out, types.Tag{Key: aws.String(key), Value: aws.String(value)})
	}
	return out
}

// some is nil for "", which AWS would refuse or take for a value.
func some(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
