// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"testing"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/targets/elbv2"
)

// Addresses outside the group's subnets need a zone, those inside must not name one. AWS says which is which, and what it
// said of one holds for its neighbours until it says otherwise.
func TestRegistrarLearnsZonesFromAWS(t *testing.T) {
	inBed(t, func(b *bed) {
		b.aws.Refuse = func(target elbv2.Target, zone string) error {
			inside := target.ID == "10.0.1.2"
			switch {
			case inside && zone != "":
				return validationError("The IP address '%s' is within the VPC, and cannot have its Availability Zone overridden to 'all' from 'eu-west-1a'", target.ID)
			case !inside && zone != elbv2.ZoneAll:
				return validationError("The Availability Zone is required for IP address '%s' because it is not in the VPC", target.ID)
			}
			return nil
		}
		b.settle()
		if n := len(b.aws.Targets(testARN)); n != 20 {
			t.Errorf("%d targets, want 20", n)
		}
		if n := len(b.aws.Calls("RegisterTargets")); n > 3 {
			t.Errorf("%d calls, want one for each thing to learn, and one", n)
		}
		b.must(b.cluster.Delete(t.Context(), newPod("web-000", "10.0.1.1")))
		b.settle()
		want := map[string]string{"10.0.1.1:8080": "all"}
		if diff := cmp.Diff(want, b.aws.Calls("DeregisterTargets")[0].Zones); diff != "" {
			t.Errorf("zones of the deregistration (-want +got):\n%s", diff)
		}
	}, manyPods(20)...)
}

// Where cross-zone load balancing is off AWS wants the zone of the node.
func TestRegistrarNamesZoneOfNode(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	slice := newSlice("web-1", pod)
	slice.Endpoints[0].Zone = ptr.To("eu-west-1b")
	inBed(t, func(b *bed) {
		b.aws.Refuse = func(target elbv2.Target, zone string) error {
			if zone == "eu-west-1b" {
				return nil
			}
			return validationError("When cross-zone load balancing is disabled on this target group, "+
				"you must specify an Availability Zone for IP target '%s' since it is outside of the VPC", target.ID)
		}
		b.settle()
		if n := len(b.aws.Targets(testARN)); n != 1 {
			t.Errorf("%d targets, want 1", n)
		}
	}, pod, slice)
}

// An AWS that contradicts itself is not asked for ever.
func TestSubnetsAreLearntOnce(t *testing.T) {
	s := newSubnets()
	if s.learn("10.0.0.1", true); !s.exclude("10.0.0.1") || !s.exclude("10.0.0.2") || s.exclude("10.0.1.1") {
		t.Errorf("after one lesson: %+v", s)
	}
	if s.learn("10.0.0.1", false); !s.exclude("10.0.0.1") {
		t.Error("the contrary of what was said before is learnt")
	}
	if s.learn("10.0.0.2", false); !s.exclude("10.0.0.1") || s.exclude("10.0.0.2") || !s.exclude("10.0.0.3") {
		t.Errorf("after a second lesson: %+v", s)
	}
}

func validationError(format string, args ...any) error {
	return &smithy.GenericAPIError{Code: "ValidationError", Message: fmt.Sprintf(format, args...)}
}
