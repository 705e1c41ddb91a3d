// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
	testingclock "k8s.io/utils/clock/testing"
)

// directory is an ELB and an EC2 that have what is named there. It refuses a call that names a target group that is not there, throttles
// while it is told to, and takes no name that begins with an asterisk.
type directory struct {
	ELB
	NetworkCalls
	there     []string
	throttled bool
	calls     int
}

func (d *directory) DescribeTargetGroups(_ context.Context, in *elbv2.DescribeTargetGroupsInput) (*elbv2.DescribeTargetGroupsOutput, error) {
	d.calls++
	names := in.Names
	switch missing := func(name string) bool { return !slices.Contains(d.there, name) }; {
	case d.throttled:
		return nil, &smithy.GenericAPIError{Code: "Throttling"}
	case len(names) > 20:
		return nil, &smithy.GenericAPIError{Code: "ValidationError"}
	case slices.ContainsFunc(names, missing):
		return nil, &smithy.GenericAPIError{Code: "TargetGroupNotFound"}
	case len(names) == 0:
		names = d.there
	}
	out := &elbv2.DescribeTargetGroupsOutput{}
	for _, name := range names {
		out.TargetGroups = append(out.TargetGroups, elbtypes.TargetGroup{TargetGroupName: &name, TargetGroupArn: aws.String("arn-" + name)})
	}
	return out, nil
}

func (d *directory) DescribeSecurityGroups(_ context.Context, in *awsec2.DescribeSecurityGroupsInput) (*awsec2.DescribeSecurityGroupsOutput, error) {
	d.calls++
	out := &awsec2.DescribeSecurityGroupsOutput{}
	for _, name := range in.Filters[1].Values {
		if name == `\*` {
			return nil, &smithy.GenericAPIError{Code: "InvalidParameterValue"}
		}
		if slices.Contains(d.there, name) {
			out.SecurityGroups = append(out.SecurityGroups, types.SecurityGroup{
				GroupId: aws.String("sg-" + name), Tags: []types.Tag{{Key: aws.String("Name"), Value: &name}},
			})
		}
	}
	return out, nil
}

func newDirectory(there ...string) (*Network, *directory, *testingclock.FakeClock) {
	d, clock := &directory{there: there}, testingclock.NewFakeClock(time.Unix(1_700_000_000, 0))
	return &Network{EC2: d, ELB: d, Clock: clock, VPC: "vpc-1"}, d, clock
}

func many(n int, prefix string) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%s-%d", prefix, i))
	}
	return names
}

// 100 groups of 32 names each that stand for nothing: 3,200 calls if each was asked for.
func TestManyNamesAreLookedUpInFewCalls(t *testing.T) {
	n, d, _ := newDirectory("web", "api")
	for i := range 100 {
		got := n.TargetGroupsNamed(t.Context(), append(many(32, fmt.Sprint("gone-", i)), "web", "api"))
		if len(got.Failed) > 0 || got.Found["web"] != "arn-web" || got.Found["api"] != "arn-api" || got.Found["gone-1-1"] != "" {
			t.Fatalf("%+v", got)
		}
	}
	if d.calls > 202 { // two for each group, and one for the list of all
		t.Errorf("%d calls for target groups", d.calls)
	}
	d.calls = 0
	if got := n.SecurityGroupsNamed(t.Context(), append(many(150, "gone"), "web")); len(got.Failed) > 0 || !slices.Equal(got.Found["web"], []string{"sg-web"}) ||
		len(got.Found["gone-1"]) > 0 || d.calls != 1 {
		t.Errorf("%d calls for security groups: %+v", d.calls, got)
	}
}

// What stands for nothing is asked for again after 30 s, then after twice as long each time, up to 10 minutes; at once when it is new.
func TestMissesAreAskedForLessAndLessOften(t *testing.T) {
	n, d, clock := newDirectory()
	names := many(3, "gone")
	var pauses []time.Duration
	last := clock.Now()
	for range 24 * 60 { // 4 hours
		before := d.calls
		n.TargetGroupsNamed(t.Context(), names)
		n.SecurityGroupsNamed(t.Context(), names)
		if d.calls > before {
			pauses, last = append(pauses, clock.Now().Sub(last)), clock.Now()
		}
		clock.Step(10 * time.Second)
	}
	want := []time.Duration{0, 30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute}
	if !slices.Equal(pauses[:len(want)], want) || slices.Max(pauses) > 10*time.Minute {
		t.Errorf("pauses %v", pauses)
	}
	d.there = []string{"gone-0", "new"}
	if got := n.TargetGroupsNamed(t.Context(), []string{"new", "other"}); got.Found["new"] != "arn-new" {
		t.Errorf("a new name: %+v", got)
	}
	clock.Step(foundAge)
	if got := n.TargetGroupsNamed(t.Context(), names); got.Found["gone-0"] != "arn-gone-0" {
		t.Errorf("it is there now: %+v", got)
	}
}

// A call that is throttled, or refused for one of its names, is no reason to know nothing of the others.
func TestANameThatIsRefusedConcernsNoOther(t *testing.T) {
	n, d, clock := newDirectory("web", "api")
	got := n.SecurityGroupsNamed(t.Context(), []string{"web", "*", "gone"})
	if len(got.Failed) != 1 || got.Failed["*"] == nil || len(got.Found["web"]) != 1 {
		t.Errorf("one is refused: %+v", got)
	}
	n.TargetGroupsNamed(t.Context(), []string{"web", "api"})
	clock.Step(time.Minute)
	d.throttled, d.calls = true, 0
	if got := n.TargetGroupsNamed(t.Context(), append(many(19, "more"), "web")); len(got.Failed) != 19 || got.Found["web"] == "" || d.calls != 1 {
		t.Errorf("throttled: %+v after %d calls", got, d.calls)
	}
}
