// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

var twoSubnets = []string{"subnet-0a000000000000001", "subnet-0b000000000000002"}

// front is an ALB behind a Network Load Balancer; the security groups of both are made, without rules, for the test to open.
type front struct {
	*bed
	alb, albGroup, nlbGroup string
	target                  state.Target
}

func newFront(t *testing.T, handler http.HandlerFunc) *front {
	t.Helper()
	f := &front{bed: newBed(t, state.Application, Options{})}
	_, backend := pod(t, "0.6.1", handler)
	f.register(backend)
	f.waitHealth(backend, state.Healthy)
	if err := f.machine.DeleteBalancer(f.lb); err != nil {
		t.Fatal(err)
	}
	f.albGroup, f.nlbGroup = f.securityGroup("alb"), f.securityGroup("nlb")
	f.alb = f.balancer(state.BalancerSpec{Name: "alb", SecurityGroups: []string{f.albGroup}, ByAPI: true})
	f.eventually("release of the group", func() bool {
		_, err := f.machine.CreateListener(state.ListenerSpec{LoadBalancer: f.alb, Protocol: state.ProtocolHTTP, Port: 80, Group: f.group})
		return err == nil
	})
	f.waitHealth(backend, state.Healthy)
	group, err := f.machine.CreateGroup("", state.GroupSpec{
		Name: "front", Protocol: state.ProtocolTCP, Port: 80, VPC: ec2.DefaultVPCID, TargetType: state.TypeALB,
		HealthCheck: state.HealthCheck{Interval: 5, Timeout: 4, HealthyThreshold: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	nlb := f.balancer(state.BalancerSpec{Name: "nlb", Type: state.Network, SecurityGroups: []string{f.nlbGroup}})
	if _, err := f.machine.CreateListener(state.ListenerSpec{LoadBalancer: nlb, Protocol: "TCP", Port: 80, Group: group.ARN}); err != nil {
		t.Fatal(err)
	}
	f.group, f.target = group.ARN, state.Target{Key: state.Key{ID: f.alb, Port: 80}}
	f.eventually("active ALB", func() bool { return len(f.machine.ActiveListeners()) == 2 })
	return f
}

func (f *front) securityGroup(name string) string {
	f.t.Helper()
	group, err := f.cloud.EC2.CreateSecurityGroup("", ec2.SecurityGroupSpec{Name: name})
	if err != nil {
		f.t.Fatal(err)
	}
	return group.ID
}

func (f *front) balancer(spec state.BalancerSpec) string {
	f.t.Helper()
	spec.Subnets = twoSubnets
	made, err := f.machine.CreateBalancer("", spec)
	if err != nil {
		f.t.Fatal(err)
	}
	return made.ARN
}

func (f *front) admit(source string) {
	f.t.Helper()
	if err := f.cloud.EC2.AuthorizeIngress("", f.albGroup, []ec2.Permission{{Rule: rule("tcp", 80, 80, source)}}); err != nil {
		f.t.Fatal(err)
	}
}

// getFrom asks a door as the client with that address; an answer that does not come is an error.
func getFrom(address, door string) (string, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: netip.MustParseAddr(address).AsSlice()}}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dialer.DialContext}, Timeout: time.Second}
	resp, err := client.Get("http://" + door)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// TestALBAsTarget has clients reach an ALB through a Network Load Balancer with their own addresses.
func TestALBAsTarget(t *testing.T) {
	f := newFront(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("X-Forwarded-For"))
	})
	f.admit("0.0.0.0/0")
	f.register(f.target)
	f.waitHealth(f.target, state.Healthy)
	got, err := getFrom("127.0.9.9", f.plane.FrontDoor(f.group))
	if err != nil || got != "127.0.9.9" {
		t.Errorf("the target sees the client %q, %v, want 127.0.9.9", got, err)
	}
}

// TestSecurityGroupsOfALBAsTarget: the ALB admits clients by the Network Load Balancer's security group or by their own addresses; health
// checks have only the former, or the addresses of the Network Load Balancer.
func TestSecurityGroupsOfALBAsTarget(t *testing.T) {
	for name, tc := range map[string]struct {
		source  func(*front) string
		want    state.HealthState
		through bool // is the client answered through the Network Load Balancer
		direct  bool // or by the ALB itself
	}{
		"the Network Load Balancer's group": {func(f *front) string { return f.nlbGroup }, state.Healthy, true, false},
		"the client alone":                  {func(*front) string { return "10.0.9.9/32" }, state.Unhealthy, true, true},
		"another client":                    {func(*front) string { return "10.0.9.8/32" }, state.Unhealthy, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFront(t, says("ok"))
			f.admit(tc.source(f))
			f.register(f.target)
			f.waitHealth(f.target, tc.want)
			answered := func(door string) bool {
				text, err := getFrom("127.0.9.9", door)
				return err == nil && text == "ok"
			}
			if got := answered(f.plane.FrontDoor(f.group)); got != tc.through {
				t.Errorf("answered through the Network Load Balancer: %v, want %v", got, tc.through)
			}
			door, err := f.plane.Resolve(f.dnsNameOf(f.alb), 80)
			if err != nil {
				t.Fatal(err)
			}
			if got := answered(door); got != tc.direct {
				t.Errorf("answered by the ALB: %v, want %v", got, tc.direct)
			}
		})
	}
}

func (f *front) dnsNameOf(lb string) string {
	f.t.Helper()
	found, err := f.machine.Balancers("", []string{lb}, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	return found[0].DNSName
}

// TestALBWithoutAListener is unhealthy as a target, for as long as it has none that is open.
func TestALBWithoutAListener(t *testing.T) {
	f := newFront(t, says("ok"))
	f.admit("0.0.0.0/0")
	f.register(f.target)
	f.waitHealth(f.target, state.Healthy)
	if err := f.machine.DeleteBalancer(f.alb); err != nil {
		t.Fatal(err)
	}
	f.waitHealth(f.target, state.Unhealthy)
}
