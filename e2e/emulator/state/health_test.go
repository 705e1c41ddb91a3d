// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
)

// TestHealthReachesEveryStateAndReason drives the machine into each line of what AWS documents, texts included.
func TestHealthReachesEveryStateAndReason(t *testing.T) {
	const pod = "10.0.0.1"
	cases := map[string]struct {
		kind string
		act  func(*bed)
		id   string
		want Health
	}{
		"initial, registering": {
			act:  func(b *bed) { b.register(pod) },
			want: Health{"initial", "Elb.RegistrationInProgress", "Target registration is in progress"},
		},
		"initial, checking": {
			act:  func(b *bed) { b.answer = failing; b.register(pod); b.pass(3 * time.Second) },
			want: Health{"initial", "Elb.InitialHealthChecking", "Initial health checks in progress"},
		},
		"healthy": {
			act:  func(b *bed) { b.register(pod); b.pass(13 * time.Second) },
			want: Health{State: "healthy"},
		},
		"unhealthy, wrong code": {
			act:  answers(Result{Code: 503}),
			want: Health{"unhealthy", "Target.ResponseCodeMismatch", "Health checks failed with these codes: [503]"},
		},
		"unhealthy, timeout": {
			act:  answers(Result{TimedOut: true}),
			want: Health{"unhealthy", "Target.Timeout", "Request timed out"},
		},
		"unhealthy, refused": {
			act:  answers(Result{Failed: true}),
			want: Health{"unhealthy", "Target.FailedHealthChecks", "Health checks failed"},
		},
		"unhealthy, NLB timeout": {
			kind: Network, act: answers(Result{TimedOut: true}),
			want: Health{"unhealthy", "Target.FailedHealthChecks", "Health checks failed"},
		},
		"unhealthy, ALB fault": {
			act:  func(b *bed) { b.register(pod); b.pass(time.Minute); b.broken(pod) },
			want: Health{"unhealthy", "Elb.InternalError", "Health checks failed due to an internal error"},
		},
		"unhealthy.draining": {
			kind: Network, act: unhealthyDraining,
			want: Health{State: "unhealthy.draining"},
		},
		"unused, never registered": {
			act:  func(*bed) {},
			want: Health{"unused", "Target.NotRegistered", "Target is not registered to the target group"},
		},
		"unused, group attached to nothing": {
			act:  func(b *bed) { b.group = b.addGroup(GroupSpec{Name: "spare"}, 0); b.register(pod) },
			want: Health{"unused", "Target.NotInUse", "Target group is not configured to receive traffic from the load balancer"},
		},
		"unused, IP in use": {
			act:  func(b *bed) { b.SetReserved(pod, true); b.register(pod) },
			want: Health{"unused", "Target.IpUnusable", "The IP address cannot be used as a target, as it is in use by a load balancer"},
		},
		"unused, zone not enabled": {
			act: func(b *bed) { b.register("10.200.0.1") }, id: "10.200.0.1",
			want: Health{"unused", "Target.NotInUse", "Target is in an Availability Zone that is not enabled for the load balancer"},
		},
		"unused, instance stopped": {
			act: stoppedInstance, id: node,
			want: Health{"unused", "Target.InvalidState", "Target is in the stopped or terminated state"},
		},
		"unavailable, Lambda function": {
			act: lambdaFunction, id: function,
			want: Health{"unavailable", "Target.HealthCheckDisabled", "Health checks are disabled"},
		},
		"draining": {
			act:  func(b *bed) { b.register(pod); b.pass(time.Minute); b.deregister(pod) },
			want: Health{"draining", "Target.DeregistrationInProgress", "Target deregistration is in progress"},
		},
		"unavailable, NLB fault": {
			kind: Network, act: func(b *bed) { b.register(pod); b.pass(10 * time.Minute); b.broken(pod) },
			want: Health{"unavailable", "Elb.InternalError", "Target health is unavailable due to an internal error"},
		},
	}
	states, reasons := map[HealthState]bool{}, map[Reason]bool{}
	for name, tc := range cases {
		states[tc.want.State] = true
		if tc.want.Reason != "" {
			reasons[tc.want.Reason] = true
		}
		t.Run(name, func(t *testing.T) {
			b := newBed(t, Options{}, cmp.Or(tc.kind, Application))
			tc.act(b)
			b.wantHealth(cmp.Or(tc.id, pod), tc.want)
		})
	}
	if len(states) != 7 || len(reasons) != 12 {
		t.Errorf("the table has %d states and %d reasons, AWS has 7 and 12", len(states), len(reasons))
	}
}

func answers(r Result) func(*bed) {
	return func(b *bed) {
		b.answer = func(Probe) Result { return r }
		b.register("10.0.0.1")
		b.pass(10 * time.Minute)
	}
}

func (b *bed) broken(id string) {
	b.t.Helper()
	if err := b.SetInternalError(b.group, ip(id).Key, true); err != nil {
		b.t.Fatal(err)
	}
}

func unhealthyDraining(b *bed) {
	changes := map[string]string{attrCutUnhealthy: "false", attrUnhealthyDrain: "600"}
	if _, err := b.ModifyAttributes(b.group, changes); err != nil {
		b.t.Fatal(err)
	}
	b.register("10.0.0.1")
	b.pass(10 * time.Minute)
	b.answer = failing
	b.pass(time.Minute)
}

const node, function = "i-1", "arn:aws:lambda:eu-west-1:123456789012:function:f"

// useGroup makes another kind of group the bed's own and attaches it.
func (b *bed) useGroup(spec GroupSpec) {
	b.t.Helper()
	g, err := b.CreateGroup("", spec)
	if err != nil {
		b.t.Fatal(err)
	}
	b.group = g.ARN
	b.attach(g.ARN, 81)
}

func stoppedInstance(b *bed) {
	b.useGroup(GroupSpec{Name: "nodes", Protocol: ProtocolHTTP, Port: 8080, VPC: ec2.DefaultVPCID})
	running := ec2.Instance{Address: "10.0.0.9", Zone: "eu-west-1a", Running: true}
	b.ec2.SetInstance(node, running)
	b.register(node)
	b.pass(time.Minute)
	b.wantHealth(node, healthy)
	if got := b.Route(b.group)[0].Address; got != running.Address {
		b.t.Errorf("address is %s, want %s", got, running.Address)
	}
	running.Running = false
	b.ec2.SetInstance(node, running)
}

func lambdaFunction(b *bed) {
	b.useGroup(GroupSpec{Name: "fn", TargetType: TypeLambda})
	b.register(function)
	b.pass(3 * time.Second)
}

func TestInternalErrorEnds(t *testing.T) {
	cases := map[string]struct {
		kind      string
		wantAtEnd Health
	}{
		"an ALB asks for the whole threshold": {Application, internalALB},
		"an NLB shows what was before":        {Network, healthy},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, Options{}, tc.kind)
			b.register("10.0.0.1")
			b.pass(10 * time.Minute)
			b.broken("10.0.0.1")
			b.pass(10 * time.Minute)
			if err := b.SetInternalError(b.group, ip("10.0.0.1").Key, false); err != nil {
				t.Fatal(err)
			}
			b.wantHealth("10.0.0.1", tc.wantAtEnd)
			b.pass(5 * 30 * time.Second)
			b.wantHealth("10.0.0.1", healthy)
		})
	}
}
