// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/targetgate/targetgate/aws/elbv2"
	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/webhook/webhooktest"
)

const (
	wantNetworking = "spec.networking: targets are registered, but no security group is changed, as targetgate runs with --security-group-rules=false"
	wantNoService  = `spec.serviceRef.name: Service "web" does not exist yet: no target is registered until it does`
	wantGrace      = `the load balancer lets requests run for 300 s (deregistration delay), but pod "web-1" ends after its grace period of 60 s, ` +
		"and requests that still run then fail: raise terminationGracePeriodSeconds, or lower the deregistration delay if no request takes that long"
)

// webService has a port 80 named http.
func webService() *corev1.Service {
	service := webhooktest.NewService("web", map[string]string{"app": "web"})
	service.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80}}
	return service
}

func endingPod(name string, grace *int64) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{TerminationGracePeriodSeconds: grace},
	}
}

func TestBindingValidatorWarnsAtCreation(t *testing.T) {
	pods := []client.Object{webService(), endingPod("web-0", ptr.To[int64](90)), endingPod("web-1", ptr.To[int64](60))}
	tests := map[string]struct {
		objects []client.Object
		change  change
		aws     error // of the description of attributes
		want    admission.Warnings
	}{
		"nothing": {objects: []client.Object{webService()}, change: func(*v1beta1.TargetGroupBinding) {}},
		"all at once": {
			change: func(b *v1beta1.TargetGroupBinding) { b.Spec.Networking = &v1beta1.TargetGroupBindingNetworking{} },
			want:   admission.Warnings{wantNetworking, wantNoService},
		},
		"the port is for UDP": {
			objects: []client.Object{portsOf(corev1.ServicePort{Name: "h3", Port: 80, Protocol: "UDP", TargetPort: intstr.FromInt32(8443)})}, change: func(*v1beta1.TargetGroupBinding) {},
			want: admission.Warnings{`spec.serviceRef.port: port 80 of Service "web" is for UDP, and the target group's protocol is HTTP: its targets are registered, ` +
				`but they get what they may not listen for. Name another port, or correct spec.ports[].protocol of the Service`},
		},
		"the port is for UDP and for TCP": {
			objects: []client.Object{portsOf(corev1.ServicePort{Name: "h3", Port: 80, Protocol: "UDP"}, corev1.ServicePort{Name: "h2", Port: 80, Protocol: "TCP"})}, change: func(*v1beta1.TargetGroupBinding) {},
		},
		"no such port": {
			objects: []client.Object{portsOf(corev1.ServicePort{Name: "h3", Port: 443, Protocol: "UDP"}, corev1.ServicePort{Port: 81})}, change: func(*v1beta1.TargetGroupBinding) {},
			want: admission.Warnings{`spec.serviceRef.port: Service "web" has no port "80"; its ports: 443/UDP h3, 81`},
		},
		"pods that end too soon":              {objects: pods, change: func(*v1beta1.TargetGroupBinding) {}, want: admission.Warnings{wantGrace}},
		"pods that end too soon, AWS is away": {objects: pods, change: func(*v1beta1.TargetGroupBinding) {}, aws: errors.New("no route")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			validator, api := newValidator(t, tc.objects...)
			api.Before = func(_ context.Context, call fakeelbv2.Call) error {
				if call.Operation == "DescribeTargetGroupAttributes" {
					return tc.aws
				}
				return nil
			}
			got, err := validator.create(t.Context(), creation(webhooktest.NewBinding("web", tc.change)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// portsOf is the Service with these ports, which selects no pod.
func portsOf(ports ...corev1.ServicePort) *corev1.Service {
	service := webhooktest.NewService("web", nil)
	service.Spec.Ports = ports
	return service
}

// At an update the status knows the group; what was wrong before is told, and not refused.
func TestBindingValidatorWarnsAtUpdate(t *testing.T) {
	known := func(b *v1beta1.TargetGroupBinding) {
		b.Status.TargetGroup = &v1beta1.TargetGroupSettings{Protocol: "HTTP", LoadBalancers: 1, DeregistrationDelaySeconds: ptr.To[int32](300)}
	}
	attachedToNothing := func(b *v1beta1.TargetGroupBinding) { b.Status.TargetGroup.LoadBalancers = 0 }
	tests := map[string]struct {
		old, new []change
		want     admission.Warnings
	}{
		"nothing is known": {want: admission.Warnings{`spec.serviceRef.name: Service "api" does not exist yet: no target is registered until it does`}},
		"pods that end too soon": {
			old: []change{toService("api")}, new: []change{known, toService("web")}, want: admission.Warnings{wantGrace},
		},
		"no load balancer": {
			old: []change{toService("api")}, new: []change{known, attachedToNothing, toService("web")},
			want: admission.Warnings{"the target group is attached to no load balancer: its targets get no traffic and no health checks", wantGrace},
		},
		"faults from before": {
			old: []change{selecting}, new: []change{selecting},
			want: admission.Warnings{
				"existing problem, not rejected: " + wantSelectorOff,
				`spec.serviceRef.name: Service "api" does not exist yet: no target is registered until it does`,
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			validator, api := newValidator(t, webService(), endingPod("web-1", ptr.To[int64](60)))
			binding := webhooktest.NewBinding("web", append([]change{toService("api")}, tc.new...)...)
			got, err := validator.update(t.Context(), changed(webhooktest.NewBinding("web", tc.old...), binding))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if calls := api.Calls(""); len(calls) > 0 {
				t.Errorf("AWS calls %v, want none", calls)
			}
		})
	}
}

func TestWarnOfUnsupported(t *testing.T) {
	serverIDs := func(protocol string) string {
		return "spec.targetGroupProtocol: QUIC server IDs are not supported yet: AWS refuses to register targets in a target group of protocol " +
			protocol + ", so their pods do not become Ready"
	}
	inbound := func(b *v1beta1.TargetGroupBinding) { b.Spec.Networking = &v1beta1.TargetGroupBindingNetworking{} }
	tests := map[string]struct {
		changes []change
		want    admission.Warnings
	}{
		"nothing":               {},
		"TCP":                   {changes: []change{speaking("TCP")}},
		"QUIC":                  {changes: []change{speaking("QUIC")}, want: admission.Warnings{serverIDs("QUIC")}},
		"TCP_QUIC, and inbound": {changes: []change{speaking("TCP_QUIC"), inbound}, want: admission.Warnings{serverIDs("TCP_QUIC"), wantNetworking}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, (&validator{}).warnOfUnsupported(&webhooktest.NewBinding("web", tc.changes...).Spec)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWarnOfBackend(t *testing.T) {
	service := webService()
	service.Spec.Type = corev1.ServiceTypeClusterIP
	service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Port: 9090, NodePort: 30090})
	tests := map[string]struct {
		port    intstr.IntOrString
		change  change
		service *corev1.Service
		want    admission.Warnings
	}{
		"port by number":  {port: intstr.FromInt32(80), change: shared, service: service},
		"port by name":    {port: intstr.FromString("http"), change: shared, service: service},
		"no Service":      {port: intstr.FromInt32(80), change: shared, want: admission.Warnings{wantNoService}},
		"no such port":    {port: intstr.FromString("80"), change: shared, service: service, want: admission.Warnings{`spec.serviceRef.port: Service "web" has no port "80"; its ports: 80 http, 9090`}},
		"node port":       {port: intstr.FromInt32(9090), change: instance, service: service},
		"no node port":    {port: intstr.FromInt32(80), change: instance, service: service, want: admission.Warnings{`spec.serviceRef: port 80 of Service "web" (type ClusterIP) has no node port: targetType instance needs type NodePort or LoadBalancer`}},
		"without a port ": {port: intstr.FromInt32(80), change: shared, service: webhooktest.NewService("web", nil), want: admission.Warnings{`spec.serviceRef.port: Service "web" has no port "80"; its ports: none`}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			binding := webhooktest.NewBinding("web", tc.change)
			binding.Spec.ServiceRef.Port = tc.port
			if diff := cmp.Diff(tc.want, warnOfBackend(&binding.Spec, tc.service)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// elb.md: an ALB wants one check passed, an NLB comes to its first check late and wants the whole threshold.
func TestWarnOfGroup(t *testing.T) {
	check := func(interval, timeout time.Duration, threshold int) elbv2.HealthCheck {
		return elbv2.HealthCheck{Interval: interval * time.Second, Timeout: timeout * time.Second, HealthyThreshold: threshold}
	}
	tests := map[string]struct {
		protocol string
		change   change
		check    elbv2.HealthCheck
		want     admission.Warnings
	}{
		"ALB, quick": {protocol: "HTTP", change: shared, check: check(25, 5, 10)},
		"ALB, AWS's default": {protocol: "HTTPS", change: shared, check: check(30, 5, 5), want: admission.Warnings{
			"a new target may take 35 s to become healthy (health check interval 30 s, timeout 5 s, healthy threshold 5), " +
				"and each batch of a rollout waits that long: shorten the interval of the target group's health check",
		}},
		"NLB, quick": {protocol: "TCP", change: shared, check: check(10, 10, 3)},
		"NLB, AWS's default": {protocol: "TCP", change: shared, check: check(30, 10, 5), want: admission.Warnings{
			"a new target may take 310 s to become healthy (health check interval 30 s, timeout 10 s, healthy threshold 5), " +
				"and each batch of a rollout waits that long: shorten the interval of the target group's health check",
		}},
		"nobody waits for nodes": {protocol: "TCP", change: instance, check: check(300, 120, 10)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, warnOfGroup(&webhooktest.NewBinding("web", tc.change).Spec, tc.protocol, 1, tc.check)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// A role may be changed before its trust policy is.
func TestBindingValidatorWarnsOfNewRoleThatCannotBeAssumed(t *testing.T) {
	const role = "arn:aws:iam::210987654321:role/shared"
	validator, _ := newValidator(t, webService())
	validator.facts = newFacts(refusingRoles(t, "AccessDenied", "not you"), clock.RealClock{})
	binding := webhooktest.NewBinding("web", func(b *v1beta1.TargetGroupBinding) { b.Spec.IamRoleArnToAssume = role })
	got, err := validator.update(t.Context(), changed(webhooktest.NewBinding("web"), binding))
	if err != nil {
		t.Fatal(err)
	}
	want := admission.Warnings{`spec.iamRoleArnToAssume: Invalid value: "` + role + `": assuming role ` + role + `: AccessDenied: not you: its trust policy ` +
		`does not allow targetgate, or targetgate's own IAM role may not assume it`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// What only a warning needs is not worth a wait, let alone an error.
func TestBindingValidatorWarnsOfNothingWhileAWSHangs(t *testing.T) {
	hang := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	tests := map[string]struct {
		hangs    string // the operation
		validate func(context.Context, *validator) (admission.Warnings, error)
	}{
		"deregistration delay": {hangs: "DescribeTargetGroupAttributes", validate: func(ctx context.Context, v *validator) (admission.Warnings, error) {
			return v.create(ctx, creation(webhooktest.NewBinding("web")))
		}},
		"new role": {hangs: "DescribeTargetGroups", validate: func(ctx context.Context, v *validator) (admission.Warnings, error) {
			binding := webhooktest.NewBinding("web", func(b *v1beta1.TargetGroupBinding) {
				b.Spec.IamRoleArnToAssume = "arn:aws:iam::210987654321:role/shared"
			})
			return v.update(ctx, changed(webhooktest.NewBinding("web"), binding))
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				validator, api := newValidator(t, webService(), endingPod("web-0", nil))
				api.Before = func(ctx context.Context, call fakeelbv2.Call) error {
					if call.Operation == tc.hangs {
						return hang(ctx)
					}
					return nil
				}
				begun := time.Now()
				got, err := tc.validate(t.Context(), validator)
				if err != nil || len(got) > 0 || time.Since(begun) != warnWithin {
					t.Errorf("warnings %v, error %v after %s; want neither after %s", got, err, time.Since(begun), warnWithin)
				}
				time.Sleep(askWithin) // of the bubble, which ends with its last call
			})
		})
	}
}
