// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/elbv2"
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

// A VPC may get subnets, and cross-zone load balancing may be switched: AWS's newest word counts.
func TestRegistrarTakesNewestWordAboutZones(t *testing.T) {
	tests := map[string]struct{ before, after, want string }{
		"inside now":               {required, within, ""},
		"outside now":              {within, required, "all"},
		"separate zones now":       {required, mustSpecify, "eu-west-1b"},
		"zones not separate again": {mustSpecify, mustBeAll, "all"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			slice := newSlice("web-1", pod)
			slice.Endpoints[0].Zone = ptr.To("eu-west-1b")
			inBed(t, func(b *bed) {
				b.aws.Refuse = refuseUnless(map[string]string{within: "", required: "all", mustBeAll: "all", mustSpecify: "eu-west-1b"}, &tc.before)
				b.settle()
				b.after(time.Hour)
				tc.before = tc.after
				b.aws.Forget(testARN, webTarget)
				b.after(testDrift)
				b.after(time.Second)
				got, there := b.aws.Targets(testARN)[webTarget]
				if !there || got.Zone != tc.want {
					t.Errorf("target %v (there: %t), want it in zone %q", got, there, tc.want)
				}
			}, pod, slice)
		})
	}
}

// webTarget is the target of the pod at 10.0.0.1.
var webTarget = elbv2.Target{ID: "10.0.0.1", Port: 8080}

// AWS's words about an address and its zone.
const (
	within    = "The IP address '%s' is within the VPC, and cannot have its Availability Zone overridden to 'all' from 'eu-west-1a'"
	required  = "The Availability Zone is required for IP address '%s' because it is not in the VPC"
	mustBeAll = "The Availability Zone for IP address '%s' must be 'all' for Application Load Balancer target groups, " +
		"when not within the VPC"
	mustSpecify = "When cross-zone load balancing is disabled on this target group, " +
		"you must specify an Availability Zone for IP target '%s' since it is outside of the VPC"
)

// refuseUnless refuses, with the words, every zone but the one that they stand for.
func refuseUnless(zones map[string]string, words *string) func(elbv2.Target, string) error {
	return func(target elbv2.Target, zone string) error {
		if zone == zones[*words] {
			return nil
		}
		return validationError(*words, target.ID)
	}
}

// An AWS that contradicts itself about some addresses is not asked without a pause, and registers the others.
func TestRegistrarPausesWhereAWSContradictsItself(t *testing.T) {
	tests := map[string]map[string]string{
		"inside or outside":  {"": required, "all": within},
		"all or one zone":    {"": required, "all": mustSpecify, "eu-west-1b": mustBeAll},
		"all three of these": {"": required, "all": mustSpecify, "eu-west-1b": within},
	}
	for name, answers := range tests {
		t.Run(name, func(t *testing.T) {
			pods := manyPods(4)
			slice := pods[len(pods)-1].(*discoveryv1.EndpointSlice)
			for i := range slice.Endpoints {
				slice.Endpoints[i].Zone = ptr.To("eu-west-1b")
			}
			inBed(t, func(b *bed) {
				b.aws.Refuse = func(target elbv2.Target, zone string) error {
					if target.ID == "10.0.1.3" {
						return nil
					}
					return validationError(answers[zone], target.ID)
				}
				b.run(2*time.Minute, webKey)
				if n := len(b.aws.Targets(testARN)); n != 1 {
					t.Errorf("%d targets, want the one that AWS takes", n)
				}
				if n := len(b.aws.Calls("RegisterTargets")); n > 100 {
					t.Errorf("%d calls in 2 minutes, want pauses", n)
				}
			}, pods...)
		})
	}
}

// In another account our node's zone may have another name.
func TestRegistrarNamesNoZoneOfNodeAbroad(t *testing.T) {
	for role, want := range map[string]string{
		"": "eu-west-1b", "arn:aws:iam::123456789012:role/ours": "eu-west-1b", "arn:aws:iam::210987654321:role/theirs": "all",
	} {
		t.Run(role, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			slice := newSlice("web-1", pod)
			slice.Endpoints[0].Zone = ptr.To("eu-west-1b")
			inBed(t, func(b *bed) {
				aws := &zonal{}
				b.Clients = elbv2.NewClients(accounts.New(awssdk.Config{Region: "eu-west-1", HTTPClient: aws, Credentials: credentials.StaticCredentialsProvider{
					Value: awssdk.Credentials{AccessKeyID: "key", SecretAccessKey: "secret", AccountID: "123456789012"},
				}}, accounts.Settings{}))
				binding := b.binding()
				binding.Spec.IamRoleArnToAssume = role
				b.must(b.cluster.Update(t.Context(), binding))
				b.settle()
				if diff := cmp.Diff([]string{"", want}, aws.named[:min(2, len(aws.named))]); diff != "" {
					t.Errorf("zones of the registrations (-want +got):\n%s", diff)
				}
			}, pod, slice)
		})
	}
}

// zonal is AWS where a target group takes no target without its zone. It is an aws.HTTPClient.
type zonal struct {
	mu    sync.Mutex
	named []string // the zones of registrations
}

func (z *zonal) Do(req *http.Request) (*http.Response, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if err := req.ParseForm(); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	switch action := req.PostForm.Get("Action"); action {
	case "AssumeRole":
		_, _ = fmt.Fprintf(w, `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>key</AccessKeyId>`+
			`<SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>%s</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`,
			time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	case "RegisterTargets":
		z.named = append(z.named, req.PostForm.Get("Targets.member.1.AvailabilityZone"))
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `<ErrorResponse><Error><Code>ValidationError</Code><Message>`+mustSpecify+`</Message></Error></ErrorResponse>`,
			"10.0.0.1")
	default:
		_, _ = fmt.Fprintf(w, "<%[1]sResponse><%[1]sResult/></%[1]sResponse>", action)
	}
	return w.Result(), nil
}

// A target that was registered before our time is deregistered with the zone that AWS shows.
func TestRegistrarDeregistersWithZoneShown(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.aws.SetHealth(testARN, webTarget, elbv2.Health{State: elbv2.StateHealthy, Zone: "eu-west-1b"})
		b.settle()
		b.must(b.cluster.Delete(t.Context(), pod))
		b.settle()
		calls := b.aws.Calls("DeregisterTargets")
		if len(calls) != 1 {
			t.Fatalf("%d deregistrations, want 1", len(calls))
		}
		if diff := cmp.Diff(map[string]string{"10.0.0.1:8080": "eu-west-1b"}, calls[0].Zones); diff != "" {
			t.Errorf("zones (-want +got):\n%s", diff)
		}
	}, withFinalizer(pod), newSlice("web-1", pod))
}

// What AWS said of one address holds for its neighbours of that VPC until it says otherwise.
func validationError(format string, args ...any) error {
	return &smithy.GenericAPIError{Code: "ValidationError", Message: fmt.Sprintf(format, args...)}
}
