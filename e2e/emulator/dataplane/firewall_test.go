// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

func rule(protocol string, from, to int, source string) ec2.Rule {
	r := ec2.Rule{Protocol: protocol, From: from, To: to}
	if cidr, err := netip.ParsePrefix(source); err == nil {
		r.Source.CIDR = cidr
	} else {
		r.Source.Group = source
	}
	return r
}

func TestAdmits(t *testing.T) {
	one, two := netip.MustParseAddr("10.0.0.4"), netip.MustParseAddr("10.64.0.4")
	both := []netip.Addr{one, two}
	lb := []string{"sg-other", "sg-lb"}
	rules := func(r ...ec2.Rule) []ec2.Rule { return r }
	cases := map[string]struct {
		rules     []ec2.Rule
		groups    []string
		addresses []netip.Addr
		want      bool
	}{
		"no rules":                                   {nil, lb, both, false},
		"a group of the load balancer":               {rules(rule("tcp", 80, 80, "sg-lb")), lb, both, true},
		"a group of others":                          {rules(rule("tcp", 80, 80, "sg-x")), lb, both, false},
		"a group, to a load balancer without groups": {rules(rule("tcp", 80, 80, "sg-lb")), nil, both, false},
		"a range of ports that begins there":         {rules(rule("tcp", 80, 90, "sg-lb")), lb, both, true},
		"a range of ports that ends there":           {rules(rule("tcp", 0, 80, "sg-lb")), lb, both, true},
		"ports above":                                {rules(rule("tcp", 81, 90, "sg-lb")), lb, both, false},
		"ports below":                                {rules(rule("tcp", 0, 79, "sg-lb")), lb, both, false},
		"another protocol":                           {rules(rule("udp", 80, 80, "sg-lb")), lb, both, false},
		"all protocols":                              {rules(rule("-1", -1, -1, "sg-lb")), lb, both, true},
		"the second rule":                            {rules(rule("udp", 80, 80, "sg-lb"), rule("tcp", 80, 80, "sg-lb")), lb, both, true},
		"a range with all addresses":                 {rules(rule("tcp", 80, 80, "10.0.0.0/8")), nil, both, true},
		"a range with one of two addresses":          {rules(rule("tcp", 80, 80, "10.0.0.0/16")), lb, both, false},
		"a range for each address":                   {rules(rule("tcp", 80, 80, "10.0.0.0/16"), rule("tcp", 80, 80, "10.64.0.0/16")), lb, both, true},
		"a range for each, one for another port":     {rules(rule("tcp", 80, 80, "10.0.0.0/16"), rule("tcp", 81, 81, "10.64.0.0/16")), lb, both, false},
		"a range of the other family":                {rules(rule("tcp", 80, 80, "::/0")), lb, both, false},
		"a range, but no address in that family":     {rules(rule("tcp", 80, 80, "0.0.0.0/0")), lb, nil, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := state.Inbound{Enforced: true, Rules: tc.rules, Groups: tc.groups, Addresses: tc.addresses}
			if got := admits(in, "tcp", 80); got != tc.want {
				t.Errorf("admitted: %v, want %v", got, tc.want)
			}
			in.Enforced = false
			if !admits(in, "tcp", 80) {
				t.Error("not admitted where nothing is enforced")
			}
		})
	}
}

// guarded puts an interface with a security group at an address, and returns the group.
func (b *bed) guarded(address string) string {
	b.t.Helper()
	group, err := b.cloud.EC2.CreateSecurityGroup("", ec2.SecurityGroupSpec{Name: "pods"})
	if err != nil {
		b.t.Fatal(err)
	}
	err = b.cloud.EC2.PutInterface(ec2.Interface{
		ID: "eni-00000001", Addresses: []netip.Addr{netip.MustParseAddr(address)}, Groups: []string{group.ID},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return group.ID
}

// open lets everybody in at a port; the function takes that back.
func (b *bed) open(group string, port int) (closeAgain func()) {
	b.t.Helper()
	r := rule("tcp", port, port, "0.0.0.0/0")
	if err := b.cloud.EC2.AuthorizeIngress("", group, []ec2.Permission{{Rule: r}}); err != nil {
		b.t.Fatal(err)
	}
	return func() {
		if _, err := b.cloud.EC2.RevokeIngress("", group, []ec2.Rule{r}); err != nil {
			b.t.Fatal(err)
		}
	}
}

func TestHealthChecksNeedARule(t *testing.T) {
	for kind, reason := range map[string]state.Reason{state.Application: state.Timeout, state.Network: state.FailedHealthChecks} {
		t.Run(kind, func(t *testing.T) {
			b := newBed(t, kind, Options{})
			_, target := pod(t, "0.8.1", says("ok"))
			group := b.guarded(target.ID)
			b.register(target)
			if got := b.waitHealth(target, state.Unhealthy); got.Reason != reason {
				t.Errorf("reason is %s, want %s", got.Reason, reason)
			}
			closeAgain := b.open(group, target.Port)
			b.waitHealth(target, state.Healthy)
			closeAgain()
			b.waitHealth(target, state.Unhealthy)
		})
	}
}

// TestRequestsNeedARule has the group fail open, so that requests go to a target that is not healthy.
func TestRequestsNeedARule(t *testing.T) {
	b := newBed(t, state.Application, Options{})
	_, target := pod(t, "0.8.2", says("ok"))
	group := b.guarded(target.ID)
	b.register(target)
	b.eventually("route", func() bool { return len(b.machine.Route(b.group)) == 1 })
	begun := time.Now()
	if status, _ := b.get(); status != http.StatusGatewayTimeout {
		t.Errorf("status is %d, want 504", status)
	}
	if took := time.Since(begun); took < b.cloud.Region.Scaled(10*time.Second) {
		t.Errorf("the answer took %s, want a connect timeout", took)
	}
	b.eventually("record", func() bool { return len(b.plane.Requests(0)) == 1 })
	if got := b.plane.Requests(0)[0].Err; !strings.Contains(got, "security groups") {
		t.Errorf("error is %q", got)
	}
	closeAgain := b.open(group, target.Port)
	if status, body := b.get(); status != http.StatusOK || body != "ok" {
		t.Errorf("answer is %d %q", status, body)
	}
	b.eventually("record", func() bool { return len(b.plane.Requests(0)) == 2 }) // and the connection is kept
	closeAgain()
	if status, _ := b.get(); status != http.StatusOK {
		t.Errorf("status on a connection that was kept is %d, want 200", status)
	}
}

func TestConnectionsNeedARule(t *testing.T) {
	b := newBed(t, state.Network, Options{})
	socket, err := net.Listen("tcp", "127.0.8.3:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	go echo(socket)
	target := state.Target{Key: state.Key{ID: "10.0.8.3", Port: socket.Addr().(*net.TCPAddr).Port}}
	group := b.guarded(target.ID)
	b.register(target)
	b.eventually("route", func() bool { return len(b.machine.Route(b.group)) == 1 })
	if err := b.readOnce(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("reading without a rule: %v, want a reset", err)
	}
	closeAgain := b.open(group, target.Port)
	conn, err := net.Dial("tcp", b.plane.FrontDoor(b.group))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	lines := bufio.NewReader(conn)
	for n := range 2 {
		if _, err := fmt.Fprintln(conn, "hello"); err != nil {
			t.Fatal(err)
		}
		if text, err := lines.ReadString('\n'); err != nil {
			t.Fatalf("line %d is %q: %v", n, text, err)
		}
		if n == 0 {
			closeAgain() // and the connection goes on
		}
	}
}
