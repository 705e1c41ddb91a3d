// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"testing"
	"time"

	"github.com/aws/smithy-go"

	"github.com/targetgate/targetgate/balancers/ingress/objects"
)

func TestPausesOfRefusalsGrowWhileTheyFollowEachOther(t *testing.T) {
	var all memories
	member, now := ingressOf("a", edge), time.Unix(1_700_000_000, 0)
	m := all.of(edge, now)
	refused := &smithy.GenericAPIError{Code: "InvalidLoadBalancerAction"}
	refuse := func(after, want time.Duration) {
		t.Helper()
		now = now.Add(after)
		m.refuse(member, "no", now, pausesOf(refused))
		if _, left := m.refusalOf(member, new(objects.Ingresses).SaysTheSame, now); left != want {
			t.Errorf("held for %v, want %v", left, want)
		}
		now = now.Add(want)
		if _, left := m.refusalOf(member, new(objects.Ingresses).SaysTheSame, now); left != 0 {
			t.Errorf("held for %v more", left)
		}
	}
	refuse(0, time.Minute)
	refuse(time.Second, 2*time.Minute)
	refuse(time.Second, 4*time.Minute)
	refuse(time.Second, 8*time.Minute)
	refuse(time.Second, 10*time.Minute)
	refuse(time.Second, 10*time.Minute)
	refuse(10*time.Minute, time.Minute)
	refuse(time.Second, 2*time.Minute)
	refused.Code = "AccessDenied"
	refuse(time.Second, 30*time.Second)
	refuse(30*time.Second, 5*time.Second)
	refuse(time.Second, 10*time.Second)
	refused.Code = "InvalidLoadBalancerAction"
	m.forget(member.UID)
	refuse(0, time.Minute)
	all.forget(edge)
	if all.of(edge, now) == m {
		t.Error("the group is not forgotten")
	}
}

// TestRediscoveryComesOnceInAnInterval also after a restart.
func TestRediscoveryComesOnceInAnInterval(t *testing.T) {
	now, m := time.Now(), &memory{}
	for _, step := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {59 * time.Minute, false}, {time.Hour, true}, {61 * time.Minute, false}} {
		if got := m.mayRediscover(now.Add(step.after), time.Hour); got != step.want {
			t.Errorf("after %v: %v", step.after, got)
		}
	}
}
