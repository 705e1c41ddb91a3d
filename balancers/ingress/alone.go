// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/ingress/reading"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/v1beta1"
)

// CheckAlone is what is wrong with a member as far as it shows without AWS and without the rest of its group. A Service that is not there
// is no fault: it may come.
func CheckAlone(
	group stack.Group, member membership.Member, services map[types.NamespacedName]*corev1.Service, options input.Options,
) []fault.Fault {
	return CheckWithTags(group, member, services, nil, options)
}

// CheckWithTags is CheckAlone where the tags of some target groups are known, by ARN.
func CheckWithTags(
	group stack.Group, member membership.Member, services map[types.NamespacedName]*corev1.Service, tags map[string]map[string]string,
	options input.Options,
) []fault.Fault {
	in := input.Input{Group: group, Members: []membership.Member{member}, Services: services, Options: options, Alone: true}
	in.AWS.Owned = make(map[string]lookup.Owned, len(tags))
	for arn, of := range tags {
		in.AWS.Owned[arn] = lookup.Owned{Tags: of}
	}
	in.Bound()
	r := reading.Read(&in, 0, reading.ForcedBy(member.Params))
	reading.Settle([]*reading.Reading{r})
	return append(r.Holding(), r.Told()...)
}

// CheckParams is what is wrong with params as far as it shows without AWS and without an Ingress of their class.
func CheckParams(params *v1beta1.IngressClassParams, options input.Options) []fault.Fault {
	member, group := membership.Member{Ingress: &networkingv1.Ingress{}, Params: params}, stack.Group{}
	if params.Spec.Group != nil {
		group.Name = params.Spec.Group.Name
	}
	return slices.DeleteFunc(CheckAlone(group, member, nil, options), func(f fault.Fault) bool { return f.Object == "" })
}

// CheckConditions is the first fault of an annotation of conditions that a backend of the Ingress names; nil for none.
func CheckConditions(ingress *networkingv1.Ingress) error {
	read := map[string]bool{} // by the backend's name
	for _, rule := range ingress.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for _, path := range rule.HTTP.Paths {
			service := path.Backend.Service
			if service == nil || read[service.Name] {
				continue
			}
			read[service.Name] = true
			if _, _, err := annotation.Conditions.Member(service.Name).In(ingress.Annotations); err != nil {
				return err
			}
		}
	}
	return nil
}
