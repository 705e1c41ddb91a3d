// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/stack"
)

// detailReader reads what a sweep leaves out. It changes nothing of the view.
type detailReader struct{ *View }

// readDetails reads the listeners and the attributes of a stack's load balancers, and the targets of those in front. What is so new that
// AWS does not find it yet stays as it is known, and so do attributes that may not be read.
func (v detailReader) readDetails(ctx context.Context, s *stack.Stack) error {
	for i := range s.LoadBalancers {
		read := s.LoadBalancers[i]
		err := v.readLoadBalancer(ctx, &read)
		if v.isUnshown(err, read.ARN) {
			continue
		}
		if err != nil {
			return err
		}
		s.LoadBalancers[i] = read
	}
	if s.Front == nil {
		return nil
	}
	for i := range s.Front.TargetGroups {
		g := &s.Front.TargetGroups[i]
		if err := v.readTarget(ctx, g); err != nil && !v.isUnshown(err, g.ARN) {
			return err
		}
	}
	return v.readDetails(ctx, s.Front)
}

// readTarget reads which load balancer is the target of a group.
func (v detailReader) readTarget(ctx context.Context, group *stack.TargetGroup) error {
	out, err := v.ELB.DescribeTargetHealth(ctx, &elbv2.DescribeTargetHealthInput{TargetGroupArn: aws.String(group.ARN)})
	if err != nil {
		return err
	}
	for _, t := range out.TargetHealthDescriptions {
		if t.Target != nil && (t.TargetHealth == nil || t.TargetHealth.State != types.TargetHealthStateEnumDraining) {
			group.Target, group.TargetPort = stack.Ref{ID: aws.ToString(t.Target.Id)}, aws.ToInt32(t.Target.Port)
		}
	}
	return nil
}

func (v detailReader) readLoadBalancer(ctx context.Context, b *stack.LoadBalancer) error {
	if err := v.readAttributes(ctx, b); err != nil && !awserr.IsPermission(err) {
		return err
	}
	if err := v.readListeners(ctx, b); err != nil {
		return err
	}
	return v.readListenerTags(ctx, b)
}

// readListeners leaves out those that we have deleted, and keeps new ones that AWS does not show yet.
func (v detailReader) readListeners(ctx context.Context, b *stack.LoadBalancer) error {
	out, err := v.ELB.DescribeListeners(ctx, &elbv2.DescribeListenersInput{LoadBalancerArn: aws.String(b.ARN)})
	if err != nil {
		return err
	}
	known, arn := b.Listeners, func(l stack.Listener) string { return l.ARN }
	b.Listeners = nil
	for _, described := range out.Listeners {
		l := listener(described)
		if v.IsGone(l.ARN) {
			continue
		}
		before := slices.IndexFunc(known, func(k stack.Listener) bool { return k.ARN == l.ARN })
		if before >= 0 {
			l.Rules = known[before].Rules
		}
		if !b.Network { // a Network Load Balancer has neither rules nor settings of ours
			err = v.readListener(ctx, &l)
		}
		if before >= 0 && v.isUnshown(err, l.ARN) {
			l, err = known[before], nil
		}
		if err != nil {
			return err
		}
		b.Listeners = append(b.Listeners, l)
	}
	b.Listeners = addMissing(b.Listeners, known, arn, v.IsNew)
	return nil
}

// readListener leaves out rules that we have deleted, and keeps new ones that AWS does not show yet.
func (v detailReader) readListener(ctx context.Context, l *stack.Listener) error {
	arn := aws.String(l.ARN)
	rules, err := v.ELB.DescribeRules(ctx, &elbv2.DescribeRulesInput{ListenerArn: arn})
	if err != nil {
		return err
	}
	known := l.Rules
	l.Rules = nil
	for _, described := range rules.Rules {
		if !aws.ToBool(described.IsDefault) && !v.IsGone(aws.ToString(described.RuleArn)) {
			l.Rules = append(l.Rules, rule(described))
		}
	}
	l.Rules = addMissing(l.Rules, known, func(r stack.Rule) string { return r.ARN }, v.IsNew)
	l.SortRules()
	if err := v.readListenerAttributes(ctx, l); err != nil && !awserr.IsPermission(err) {
		return err
	}
	if l.Protocol != string(types.ProtocolEnumHttps) {
		return nil
	}
	certificates, err := v.ELB.DescribeListenerCertificates(ctx, &elbv2.DescribeListenerCertificatesInput{ListenerArn: arn})
	if err != nil {
		return err
	}
	l.Certificates = certificateList(certificates.Certificates)
	return nil
}

// readListenerTags reads the tags of all listeners and rules.
func (v detailReader) readListenerTags(ctx context.Context, b *stack.LoadBalancer) error {
	tags := map[string]*map[string]string{}
	var arns []string
	for i := range b.Listeners {
		l := &b.Listeners[i]
		tags[l.ARN], arns = &l.Tags, append(arns, l.ARN)
		for j := range l.Rules {
			tags[l.Rules[j].ARN], arns = &l.Rules[j].Tags, append(arns, l.Rules[j].ARN)
		}
	}
	err := eachTags(ctx, v.ELB, arns, func(arn string, read map[string]string) {
		if to := tags[arn]; to != nil {
			*to = read
		}
	})
	for i := range b.Listeners {
		l := &b.Listeners[i]
		setSecretVersion(&l.Default, l.Tags)
		for j := range l.Rules {
			setSecretVersion(&l.Rules[j].Action, l.Rules[j].Tags)
		}
	}
	return err
}

// Complete reads what Stack does not, where something is wanted to compare it with: attributes of target groups, one call for each, web
// ACLs, of which WAF allows one call a second, and attributes that Stack could not read. Stack says it from then on. It is false when
// nothing was read. After an error Stack says what was read all the same.
func (v *View) Complete(ctx context.Context, wanted stack.Stack) (bool, error) {
	seen, e, changed := v.look(wanted.ID)
	if e == nil {
		return false, nil
	}
	groups, groupsErr := detailReader{v}.completeTargetGroups(ctx, &seen, wanted)
	v.forgetIfGone(wanted.ID, groupsErr)
	balancers, balancersErr := detailReader{v}.completeBalancers(ctx, &seen, wanted)
	v.mu.Lock()
	defer v.mu.Unlock()
	if e := v.entries[wanted.ID]; e != nil && e.changed == changed {
		e.seen = seen
	}
	return groups || balancers, errors.Join(groupsErr, balancersErr)
}

func (v detailReader) completeTargetGroups(ctx context.Context, seen *stack.Stack, wanted stack.Stack) (read bool, err error) {
	for i := range seen.TargetGroups {
		group := &seen.TargetGroups[i]
		wants := func(w stack.TargetGroup) bool { return w.Part == group.Part && len(w.Attributes)+len(w.Presets) > 0 }
		if group.Attributes == nil && slices.ContainsFunc(wanted.TargetGroups, wants) {
			if err := v.readGroupAttributes(ctx, group); err != nil {
				return read, err
			}
			read = true
		}
	}
	return read, nil
}

func (v detailReader) completeBalancers(ctx context.Context, seen *stack.Stack, wanted stack.Stack) (read bool, err error) {
	if len(wanted.LoadBalancers) == 0 {
		return false, nil
	}
	w := &wanted.LoadBalancers[0]
	for i := range seen.LoadBalancers {
		b := &seen.LoadBalancers[i]
		attributes, attributesErr := v.completeAttributes(ctx, b, w)
		acls, aclErr := v.completeWebACLs(ctx, b, w)
		capacity, capacityErr := complete(&b.Capacity, w.Capacity != nil, func() (int32, error) { return v.capacity(ctx, b.ARN) })
		shields, shieldErr := complete(&b.Protection, v.Shield != nil && w.Shield != nil, func() (p stack.Protection, err error) {
			p.ID, p.Own, err = v.Shield.Protection(ctx, b.ARN)
			return p, err
		})
		read = read || attributes || acls || capacity || shields
		err = errors.Join(err, attributesErr, aclErr, capacityErr, shieldErr)
	}
	return read, err
}

// completeAttributes tries again what could not be read, up to the first that may not be read still.
func (v detailReader) completeAttributes(ctx context.Context, b, wanted *stack.LoadBalancer) (read bool, err error) {
	if b.Attributes == nil && len(wanted.Attributes)+len(wanted.Presets) > 0 {
		err = v.readAttributes(ctx, b)
		read = err == nil
	}
	for i := range b.Listeners {
		l := &b.Listeners[i]
		wants := func(w stack.Listener) bool { return w.Port == l.Port && len(w.Attributes)+len(w.Presets) > 0 }
		if err == nil && l.Attributes == nil && slices.ContainsFunc(wanted.Listeners, wants) {
			err = v.readListenerAttributes(ctx, l)
			read = read || err == nil
		}
	}
	return read, err
}

func (v detailReader) completeWebACLs(ctx context.Context, b, wanted *stack.LoadBalancer) (read bool, err error) {
	acl, aclErr := complete(&b.WebACL, v.WAF != nil && wanted.WebACL != nil, func() (string, error) { return v.WAF.WebACL(ctx, b.ARN) })
	classic, classicErr := complete(&b.ClassicACL, v.WAFClassic != nil && wanted.ClassicACL != nil, func() (string, error) {
		return v.WAFClassic.WebACL(ctx, b.ARN)
	})
	return acl || classic, errors.Join(aclErr, classicErr)
}

// complete reads what is wanted and not read.
func complete[T any](into **T, wanted bool, read func() (T, error)) (bool, error) {
	if *into != nil || !wanted {
		return false, nil
	}
	value, err := read()
	if err != nil {
		return false, err
	}
	*into = &value
	return true, nil
}

// capacity is what is reserved for a load balancer.
func (v detailReader) capacity(ctx context.Context, arn string) (int32, error) {
	out, err := v.ELB.DescribeCapacityReservation(ctx, &elbv2.DescribeCapacityReservationInput{LoadBalancerArn: aws.String(arn)})
	if err != nil || out.MinimumLoadBalancerCapacity == nil {
		return 0, err
	}
	return aws.ToInt32(out.MinimumLoadBalancerCapacity.CapacityUnits), nil
}

func (v detailReader) readAttributes(ctx context.Context, b *stack.LoadBalancer) error {
	in := &elbv2.DescribeLoadBalancerAttributesInput{LoadBalancerArn: aws.String(b.ARN)}
	out, err := v.ELB.DescribeLoadBalancerAttributes(ctx, in)
	if err != nil {
		return err
	}
	b.Attributes = attributesOf(out.Attributes, func(a types.LoadBalancerAttribute) (key, value *string) { return a.Key, a.Value })
	return nil
}

func (v detailReader) readListenerAttributes(ctx context.Context, l *stack.Listener) error {
	out, err := v.ELB.DescribeListenerAttributes(ctx, &elbv2.DescribeListenerAttributesInput{ListenerArn: aws.String(l.ARN)})
	if err != nil {
		return err
	}
	l.Attributes = attributesOf(out.Attributes, func(a types.ListenerAttribute) (key, value *string) { return a.Key, a.Value })
	return nil
}

func (v detailReader) readGroupAttributes(ctx context.Context, group *stack.TargetGroup) error {
	out, err := v.ELB.DescribeTargetGroupAttributes(ctx, &elbv2.DescribeTargetGroupAttributesInput{TargetGroupArn: aws.String(group.ARN)})
	if err != nil {
		return err
	}
	group.Attributes = attributesOf(out.Attributes, func(a types.TargetGroupAttribute) (key, value *string) { return a.Key, a.Value })
	return nil
}

func attributesOf[T any](list []T, of func(T) (key, value *string)) map[string]string {
	out := map[string]string{}
	for _, a := range list {
		key, value := of(a)
		out[aws.ToString(key)] = aws.ToString(value)
	}
	return out
}
