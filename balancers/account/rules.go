// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/balancers/stack"
)

func listener(l types.Listener) stack.Listener {
	out := stack.Listener{
		ARN: aws.ToString(l.ListenerArn), Port: aws.ToInt32(l.Port), Protocol: string(l.Protocol), SSLPolicy: aws.ToString(l.SslPolicy),
		Default: action(l.DefaultActions),
	}
	if l.Protocol == types.ProtocolEnumHttps {
		out.MutualAuth = &stack.MutualAuth{Mode: "off"}
	}
	if m := l.MutualAuthentication; m != nil && aws.ToString(m.Mode) != "" {
		out.MutualAuth = &stack.MutualAuth{
			Mode: aws.ToString(m.Mode), TrustStore: aws.ToString(m.TrustStoreArn), IgnoreExpiry: aws.ToBool(m.IgnoreClientCertificateExpiry),
			AdvertiseNames: m.AdvertiseTrustStoreCaNames == types.AdvertiseTrustStoreCaNamesEnumOn,
		}
	}
	return out
}

// certificateList has the default certificate first. AWS lists it again when it stands in the list for SNI, too.
func certificateList(certificates []types.Certificate) (out []string) {
	for _, standard := range []bool{true, false} {
		for _, c := range certificates {
			if aws.ToBool(c.IsDefault) == standard {
				out = append(out, aws.ToString(c.CertificateArn))
			}
		}
	}
	return out
}

func rule(r types.Rule) stack.Rule {
	priority, _ := strconv.ParseInt(aws.ToString(r.Priority), 10, 32) // only the default rule has another one
	out := stack.Rule{ARN: aws.ToString(r.RuleArn), Priority: int32(priority), Action: action(r.Actions), Transforms: transforms(r.Transforms)}
	for _, c := range r.Conditions {
		out.Conditions = append(out.Conditions, condition(c))
	}
	return out
}

// condition reads a condition. Those for hosts and paths may have their values in its former form alone.
func condition(c types.RuleCondition) stack.Condition {
	out := stack.Condition{Field: aws.ToString(c.Field)}
	switch {
	case c.HostHeaderConfig != nil:
		out.Values, out.Regex = c.HostHeaderConfig.Values, c.HostHeaderConfig.RegexValues
	case c.PathPatternConfig != nil:
		out.Values, out.Regex = c.PathPatternConfig.Values, c.PathPatternConfig.RegexValues
	case c.HttpHeaderConfig != nil:
		out.Header = aws.ToString(c.HttpHeaderConfig.HttpHeaderName)
		out.Values, out.Regex = c.HttpHeaderConfig.Values, c.HttpHeaderConfig.RegexValues
	case c.HttpRequestMethodConfig != nil:
		out.Values = c.HttpRequestMethodConfig.Values
	case c.SourceIpConfig != nil:
		out.Values = c.SourceIpConfig.Values
	case c.QueryStringConfig != nil:
		for _, pair := range c.QueryStringConfig.Values {
			out.Query = append(out.Query, stack.Parameter{Key: aws.ToString(pair.Key), Value: aws.ToString(pair.Value)})
		}
	default:
		out.Values = append(slices.Clone(c.Values), c.RegexValues...)
	}
	return out
}

// action reads what a rule does, and before that who may pass. Other lists of actions are not known.
func action(actions []types.Action) stack.Action {
	actions = slices.SortedStableFunc(slices.Values(actions), func(a, b types.Action) int {
		return cmp.Compare(aws.ToInt32(a.Order), aws.ToInt32(b.Order))
	})
	var names []string
	for _, a := range actions {
		names = append(names, string(a.Type))
	}
	unknown := stack.Action{Unknown: cmp.Or(strings.Join(names, ", "), "nothing")}
	var who *stack.Auth
	if len(actions) == 2 {
		if who = auth(actions[0]); who == nil {
			return unknown
		}
		actions = actions[1:]
	}
	if len(actions) != 1 {
		return unknown
	}
	out, ok := last(actions[0])
	if !ok {
		return unknown
	}
	out.Auth = who
	return out
}

// last reads the last action. It is false for one that is not known. A redirect that names no query keeps the client's.
func last(a types.Action) (stack.Action, bool) {
	switch {
	case a.Type == types.ActionTypeEnumForward:
		return stack.Action{Forward: forward(a)}, true
	case a.RedirectConfig != nil:
		r := a.RedirectConfig
		return stack.Action{Redirect: &stack.Redirect{
			Protocol: aws.ToString(r.Protocol), Host: aws.ToString(r.Host), Port: aws.ToString(r.Port), Path: aws.ToString(r.Path),
			Query: ptr.Deref(r.Query, "#{query}"), Status: string(r.StatusCode),
		}}, true
	case a.FixedResponseConfig != nil:
		f := a.FixedResponseConfig
		return stack.Action{Fixed: &stack.FixedResponse{
			Status: aws.ToString(f.StatusCode), ContentType: aws.ToString(f.ContentType), Body: aws.ToString(f.MessageBody),
		}}, true
	}
	return stack.Action{}, false
}

// forward reads where requests are sent. The weight that AWS leaves out is 1.
func forward(a types.Action) *stack.Forward {
	if a.ForwardConfig == nil {
		return &stack.Forward{Groups: []stack.Weighted{{Group: stack.Ref{ID: aws.ToString(a.TargetGroupArn)}, Weight: 1}}}
	}
	out := &stack.Forward{}
	for _, g := range a.ForwardConfig.TargetGroups {
		out.Groups = append(out.Groups, stack.Weighted{Group: stack.Ref{ID: aws.ToString(g.TargetGroupArn)}, Weight: ptr.Deref(g.Weight, 1)})
	}
	switch s := a.ForwardConfig.TargetGroupStickinessConfig; {
	case s == nil:
	case aws.ToBool(s.Enabled):
		out.Sticky = aws.ToInt32(s.DurationSeconds)
	default:
		out.StickyOff = aws.ToInt32(s.DurationSeconds)
	}
	return out
}
