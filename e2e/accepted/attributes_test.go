// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package accepted

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/ingress"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/stack"
)

// With --reset-attributes, attributes that no annotation names any more are as AWS makes them, apart from deletion protection.
func TestAttributesThatNothingNamesGoBack(t *testing.T) {
	c, m := newCloud(t), newMember("web")
	in := inputOf(c, []*member{m})
	in.Options.ResetAttributes = true
	before, _ := ingress.Build(in)
	if refusals := c.apply(t, before); len(refusals) > 0 {
		t.Fatalf("AWS refuses %v", refusals)
	}
	made := attributesOf(c.seen(t, in))
	if _, steps := c.again(t, in); len(steps) > 0 {
		t.Errorf("what was just made is changed: %v", steps)
	}
	for name, value := range map[string]string{
		"load-balancer-attributes": "idle_timeout.timeout_seconds=30,routing.http2.enabled=false,deletion_protection.enabled=true",
		"listener-attributes.HTTP-80": "routing.http.response.server.enabled=false," +
			"routing.http.response.x_frame_options.header_value=DENY",
		"target-group-attributes": "stickiness.enabled=true,stickiness.type=app_cookie,stickiness.app_cookie.cookie_name=own," +
			"slow_start.duration_seconds=60,deregistration_delay.timeout_seconds=5",
	} {
		m.ingress.Annotations[annotation.Prefix+name] = value
	}
	c.converge(t, in)
	if gocmp.Equal(made, attributesOf(c.seen(t, in))) {
		t.Fatal("the annotations change nothing")
	}
	for _, name := range []string{"load-balancer-attributes", "listener-attributes.HTTP-80", "target-group-attributes"} {
		delete(m.ingress.Annotations, annotation.Prefix+name)
	}
	in.Options.ResetAttributes = false
	if _, steps := c.again(t, in); len(steps) > 0 {
		t.Errorf("without the flag, attributes change: %v", steps)
	}
	in.Options.ResetAttributes = true
	c.converge(t, in)
	made[0]["deletion_protection.enabled"] = "true"
	made[slices.IndexFunc(made, func(a map[string]string) bool { _, ok := a["stickiness.type"]; return ok })]["stickiness.app_cookie.cookie_name"] = "own"
	if diff := gocmp.Diff(made, attributesOf(c.seen(t, in))); diff != "" {
		t.Errorf("attributes (-as they were made +now):\n%s", diff)
	}
}

// converge does what a second pass would.
func (c *cloud) converge(t *testing.T, in input.Input) {
	t.Helper()
	wanted, steps := c.again(t, in)
	result := c.applier.Run(t.Context(), apply.Pass{ID: wanted.ID, Plan: steps})
	if len(result.Done) != len(steps) {
		t.Fatalf("%d of %d steps were done: %v", len(result.Done), len(steps), result.Failures)
	}
	if _, left := c.again(t, in); len(left) > 0 {
		t.Errorf("something is left to do: %v", left)
	}
}

// attributesOf are those of the load balancer, its listeners and the target groups.
func attributesOf(s stack.Stack) []map[string]string {
	list := []map[string]string{s.LoadBalancers[0].Attributes}
	for _, listener := range s.LoadBalancers[0].Listeners {
		list = append(list, listener.Attributes)
	}
	for _, group := range s.TargetGroups {
		list = append(list, group.Attributes)
	}
	return list
}
