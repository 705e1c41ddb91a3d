// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"testing"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	testclock "k8s.io/utils/clock/testing"

	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

func (b *bed) registered(group string) int {
	b.t.Helper()
	lines, err := b.machine.Describe(group, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return len(lines)
}

func TestFaultAnswersAnError(t *testing.T) {
	b := newBed(t, cloud.Options{}, Options{})
	one, two := b.createGroup("one"), b.createGroup("two")
	b.server.Inject(Fault{Operation: "RegisterTargets", TargetGroup: one, Times: 2, Code: "ServiceUnavailable", Status: 503})
	wantCode(t, b.register(two, "10.0.0.1"), "")
	wantCode(t, b.register(one, "10.0.0.1"), "ServiceUnavailable")
	wantCode(t, b.register(one, "10.0.0.1"), "ServiceUnavailable")
	if got := b.registered(one); got != 0 {
		t.Errorf("%d targets were registered by calls that failed", got)
	}
	wantCode(t, b.register(one, "10.0.0.1"), "")
	want := []Call{
		{Operation: "RegisterTargets", TargetGroup: two, Status: 200},
		{Operation: "RegisterTargets", TargetGroup: one, Status: 503, Code: "ServiceUnavailable"},
		{Operation: "RegisterTargets", TargetGroup: one, Status: 503, Code: "ServiceUnavailable"},
		{Operation: "RegisterTargets", TargetGroup: one, Status: 200},
	}
	got := b.server.Calls(2)
	ignore := cmpopts.IgnoreFields(Call{}, "Received", "Answered", "RequestID", "Targets", "Principal")
	if diff := cmp.Diff(want, got, ignore); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	last := got[3]
	if diff := cmp.Diff([]state.Key{{ID: "10.0.0.1", Port: 8080}}, last.Targets); diff != "" || last.Principal != "AKIATEST" {
		t.Errorf("principal %s, targets (-want +got):\n%s", last.Principal, diff)
	}
}

func TestFaultLastsForATime(t *testing.T) {
	clock := testclock.NewFakeClock(time.Now())
	b := newBed(t, cloud.Options{}, Options{Clock: clock})
	arn := b.createGroup("web")
	b.server.Inject(Fault{For: time.Minute, Code: "AccessDenied"})
	wantCode(t, b.register(arn, "10.0.0.1"), "AccessDenied")
	clock.Step(2 * time.Minute)
	wantCode(t, b.register(arn, "10.0.0.1"), "")
}

func TestFaultIsTakenBack(t *testing.T) {
	b := newBed(t, cloud.Options{}, Options{})
	arn := b.createGroup("web")
	remove := b.server.Inject(Fault{Code: "InternalFailure"})
	wantCode(t, b.register(arn, "10.0.0.1"), "InternalFailure")
	remove()
	wantCode(t, b.register(arn, "10.0.0.1"), "")
}

func TestFaultHangs(t *testing.T) {
	b := newBed(t, cloud.Options{}, Options{})
	arn := b.createGroup("web")
	b.server.Inject(Fault{Times: 1, Hang: time.Hour})
	hurry, cancel := context.WithTimeout(ctx(t), 50*time.Millisecond)
	defer cancel()
	_, err := b.elb.RegisterTargets(hurry, &elb.RegisterTargetsInput{TargetGroupArn: &arn, Targets: targets("10.0.0.1")})
	if hurry.Err() == nil || err == nil {
		t.Errorf("the call did not hang: %v", err)
	}
	wantCode(t, b.register(arn, "10.0.0.2"), "")
}

func TestFaultActsWithoutAWholeAnswer(t *testing.T) {
	for name, fault := range map[string]Fault{"dropped": {Drop: true}, "truncated": {Truncate: true}} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, cloud.Options{}, Options{})
			arn := b.createGroup("web")
			fault.Times = 1
			b.server.Inject(fault)
			if err := b.register(arn, "10.0.0.1"); err == nil {
				t.Error("the client saw an answer")
			}
			if got := b.registered(arn); got != 1 {
				t.Errorf("%d targets are registered, want 1", got)
			}
		})
	}
}

func TestFaultOmitsTargets(t *testing.T) {
	b := newBed(t, cloud.Options{}, Options{})
	arn := b.createGroup("web")
	wantCode(t, b.register(arn, "10.0.0.1", "10.0.0.2", "10.0.0.3"), "")
	b.server.Inject(Fault{Operation: "DescribeTargetHealth", Times: 1, Omit: 2})
	for _, want := range []int{1, 3} {
		lines, err := b.health(arn)
		if err != nil || len(lines) != want {
			t.Errorf("%d targets, want %d: %v", len(lines), want, err)
		}
	}
}
