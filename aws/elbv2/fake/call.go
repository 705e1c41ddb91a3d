// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/aws/elbv2"
)

// Call is one call that was made.
type Call struct {
	Operation string
	Group     string
	Targets   []string          // sorted id:port, of RegisterTargets and DeregisterTargets
	Zones     map[string]string // by id:port, the Availability Zones that were named; nil when none was
}

func callOf(operation string, arn *string, targets []types.TargetDescription) Call {
	call := Call{Operation: operation, Group: aws.ToString(arn)}
	for _, t := range slices.SortedFunc(slices.Values(targets), byName) {
		name := targetOf(t).String()
		call.Targets = append(call.Targets, name)
		if t.AvailabilityZone == nil {
			continue
		}
		if call.Zones == nil {
			call.Zones = map[string]string{}
		}
		call.Zones[name] = *t.AvailabilityZone
	}
	return call
}

func targetOf(t types.TargetDescription) elbv2.Target {
	return elbv2.Target{ID: aws.ToString(t.Id), Port: aws.ToInt32(t.Port)}
}

func describe(target elbv2.Target, zone string) *types.TargetDescription {
	d := &types.TargetDescription{Id: aws.String(target.ID), Port: aws.Int32(target.Port)}
	if zone != "" {
		d.AvailabilityZone = aws.String(zone)
	}
	return d
}

func byName(a, b types.TargetDescription) int {
	return strings.Compare(targetOf(a).String(), targetOf(b).String())
}
