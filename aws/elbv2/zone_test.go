// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"context"
	"net/netip"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
)

func TestZoneRefusalReadsAddressAndZone(t *testing.T) {
	type reading struct {
		Address, Zone string
		OK            bool
	}
	tests := map[string]struct {
		code, text string
		want       reading
	}{
		"required": {
			text: "The Availability Zone is required for IP address '10.4.40.87' because it is not in the VPC",
			want: reading{"10.4.40.87", ZoneAll, true},
		},
		"select all": {
			text: "You must specify a valid Availability Zone or select 'all' for all enabled Availability zones, " +
				"since the IP address '10.130.6.97' is outside the VPC",
			want: reading{"10.130.6.97", ZoneAll, true},
		},
		"must be all": {
			text: "The Availability Zone for IP address '192.168.3.4' must be 'all' for Application Load Balancer target groups, " +
				"when not within the VPC",
			want: reading{"192.168.3.4", ZoneAll, true},
		},
		"required, more words": {
			text: "The Availability Zone is required for IP address '10.4.40.87' because it is not in the VPC: " +
				"you must specify an Availability Zone",
			want: reading{"10.4.40.87", ZoneAll, true},
		},
		"not across zones": {
			text: "When cross-zone load balancing is disabled on this target group, you must specify an Availability Zone " +
				"for IP target '10.4.40.87' since it is outside of the VPC",
			want: reading{"10.4.40.87", ZoneOfNode, true},
		},
		"zone not supported": {
			text: "The Availability Zone 'eu-west-1a' is not supported for IP address '10.9.9.9', which is outside the VPC; specify 'all'",
			want: reading{"10.9.9.9", ZoneAll, true},
		},
		"inside after all": {
			text: "The IP address '10.1.2.3' is within the VPC, and cannot have its Availability Zone overridden to 'all' from 'us-east-1b'",
			want: reading{"10.1.2.3", "", true},
		},
		"IPv6 spelt out": {
			text: "The Availability Zone is required for IP address '2001:0DB8:0:0:0:0:0:1' because it is not in the VPC",
			want: reading{"2001:db8::1", ZoneAll, true},
		},
		"other code": {
			code: "InvalidTarget", text: "The Availability Zone is required for IP address '10.4.40.87' because it is not in the VPC",
		},
		"other matter": {text: "The IP address '10.4.40.87' is not a valid IPv6 address"},
		"no zone":      {text: "The IP address '10.4.40.87' is not within the VPC"},
		"no address":   {text: "The Availability Zone is required for IP address 'x.x.x.x' because it is not in the VPC"},
		"no verdict":   {text: "The Availability Zone of IP address '10.4.40.87' is impaired"},
		"no text":      {},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.code == "" {
				tc.code = awserr.CodeValidation
			}
			var got reading
			got.Address, got.Zone, got.OK = ZoneRefusal(refusal(tc.code, tc.text))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", tc.text, diff)
			}
		})
	}
}

func FuzzZoneRefusal(f *testing.F) {
	f.Add("The Availability Zone is required for IP address '10.4.40.87' because it is not in the VPC")
	f.Add("The IP address '2001:DB8::1' is within the VPC, and cannot have its Availability Zone overridden to 'all' from 'x'")
	f.Fuzz(func(t *testing.T, text string) {
		address, zone, ok := ZoneRefusal(refusal(awserr.CodeValidation, text))
		if !ok {
			if address != "" || zone != "" {
				t.Errorf("%q: %q and %q without ok", text, address, zone)
			}
			return
		}
		if _, err := netip.ParseAddr(address); err != nil || canonical(address) != address {
			t.Errorf("%q: %q is no address in its canonical form", text, address)
		}
		if zone != "" && zone != ZoneAll {
			t.Errorf("%q: zone %q", text, zone)
		}
	})
}

// answering answers DescribeTargetHealth and keeps what it is given to register.
type answering struct {
	API
	health     []types.TargetHealthDescription
	registered []types.TargetDescription
}

func (a *answering) DescribeTargetHealth(context.Context, *awselbv2.DescribeTargetHealthInput, ...func(*awselbv2.Options)) (
	*awselbv2.DescribeTargetHealthOutput, error,
) {
	return &awselbv2.DescribeTargetHealthOutput{TargetHealthDescriptions: a.health}, nil
}

func (a *answering) RegisterTargets(_ context.Context, in *awselbv2.RegisterTargetsInput, _ ...func(*awselbv2.Options)) (
	*awselbv2.RegisterTargetsOutput, error,
) {
	a.registered = in.Targets
	return nil, nil
}

func (a *answering) DeregisterTargets(_ context.Context, in *awselbv2.DeregisterTargetsInput, _ ...func(*awselbv2.Options)) (
	*awselbv2.DeregisterTargetsOutput, error,
) {
	a.registered = in.Targets
	return nil, nil
}

func TestHealthNamesAddressesCanonically(t *testing.T) {
	healthy := &types.TargetHealth{State: types.TargetHealthStateEnumHealthy}
	api := &answering{health: []types.TargetHealthDescription{
		{Target: &types.TargetDescription{Id: aws.String("2001:0DB8:0:0:0:0:0:00A1"), Port: aws.Int32(80)}, TargetHealth: healthy},
		{Target: &types.TargetDescription{Id: aws.String("i-0ABC"), Port: aws.Int32(80)}, TargetHealth: healthy},
		{
			Target:       &types.TargetDescription{Id: aws.String("10.0.0.1"), Port: aws.Int32(80), AvailabilityZone: aws.String("eu-west-1a")},
			TargetHealth: healthy,
		},
	}}
	got, err := New(api, budget.New("", nil, clock.RealClock{})).Health(t.Context(), budget.ClassOther, testARN, WholeGroup)
	if err != nil {
		t.Fatal(err)
	}
	want := map[Target]Health{
		{ID: "2001:db8::a1", Port: 80}: {State: StateHealthy},
		{ID: "i-0ABC", Port: 80}:       {State: StateHealthy},
		{ID: "10.0.0.1", Port: 80}:     {State: StateHealthy, Zone: "eu-west-1a"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("health (-want +got):\n%s", diff)
	}
}

func TestClientNamesZoneOfTarget(t *testing.T) {
	tests := map[string]struct {
		zone string
		want *string
	}{
		"detected by AWS": {"", nil},
		"outside the VPC": {ZoneAll, aws.String("all")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			api := &answering{}
			client := New(api, budget.New("", nil, clock.RealClock{}))
			for operation, call := range map[string]func(context.Context, budget.Urgency, string, Batch) error{
				"Register": client.Register, "Deregister": client.Deregister,
			} {
				err := call(t.Context(), budget.ClassOther.Now(), testARN, func() map[Target]string { return map[Target]string{{ID: "10.0.0.1", Port: 80}: tc.zone} })
				if err != nil {
					t.Fatal(err)
				}
				if got := api.registered[0].AvailabilityZone; aws.ToString(got) != aws.ToString(tc.want) || (got == nil) != (tc.want == nil) {
					t.Errorf("%s sent zone %v, want %v", operation, aws.ToString(got), aws.ToString(tc.want))
				}
			}
		})
	}
}

// refusal is what the SDK makes of an error that AWS answers.
func refusal(code, text string) error {
	return callError("registering targets in", testARN, &smithy.GenericAPIError{Code: code, Message: text})
}
