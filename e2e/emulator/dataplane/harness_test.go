// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// bed is a machine a hundred times faster than AWS with one load balancer, driven by a real plane.
type bed struct {
	t       *testing.T
	cloud   *cloud.Cloud
	machine *state.Machine // of the cloud
	plane   *Plane
	group   string
	lb      string
}

const scale = 0.01

func startBed(t *testing.T, elb state.Options, opts Options) *bed {
	t.Helper()
	b := &bed{t: t, cloud: cloud.New(cloud.Options{Region: region.Options{Scale: scale}, ELB: elb})}
	b.machine, b.plane = b.cloud.ELB, Start(t.Context(), b.cloud, opts)
	t.Cleanup(b.plane.Close)
	return b
}

func newBed(t *testing.T, kind string, opts Options) *bed {
	t.Helper()
	b := startBed(t, state.Options{}, opts)
	spec := state.GroupSpec{
		Name: "web", Protocol: state.ProtocolHTTP, Port: 80, VPC: ec2.DefaultVPCID, TargetType: state.TypeIP,
		HealthCheck: state.HealthCheck{Interval: 5, Timeout: 4, HealthyThreshold: 2},
	}
	protocol := state.ProtocolHTTP
	if kind == state.Network {
		protocol = state.ProtocolTCP
		spec.Protocol = protocol
	}
	group, err := b.machine.CreateGroup("", spec)
	if err != nil {
		t.Fatal(err)
	}
	lb, err := b.machine.CreateBalancer("", state.BalancerSpec{
		Name: "lb", Type: kind, Subnets: []string{"subnet-0a000000000000001", "subnet-0b000000000000002"},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.group, b.lb = group.ARN, lb.ARN
	listener := state.ListenerSpec{LoadBalancer: lb.ARN, Protocol: protocol, Port: 80, Group: group.ARN}
	if _, err := b.machine.CreateListener(listener); err != nil {
		t.Fatal(err)
	}
	return b
}

// pod serves HTTP at 127.0.a.b and is the target 10.0.a.b.
func pod(t *testing.T, host string, handler http.HandlerFunc) (*httptest.Server, state.Target) {
	t.Helper()
	socket, err := net.Listen("tcp", "127."+host+":0")
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: socket, Config: &http.Server{Handler: handler, ErrorLog: quiet}}
	server.Start()
	t.Cleanup(server.Close)
	port := socket.Addr().(*net.TCPAddr).Port
	return server, state.Target{Key: state.Key{ID: "10." + host, Port: port}}
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

func (b *bed) register(targets ...state.Target) {
	b.t.Helper()
	if err := b.machine.Register(b.group, targets); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) deregister(target state.Target) {
	b.t.Helper()
	if err := b.machine.Deregister(b.group, []state.Target{target}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) health(target state.Target) state.Health {
	b.t.Helper()
	lines, err := b.machine.Describe(b.group, []state.Target{target})
	if err != nil {
		b.t.Fatal(err)
	}
	return lines[0].Health
}

func (b *bed) waitHealth(target state.Target, want state.HealthState) state.Health {
	b.t.Helper()
	b.eventually(string(want), func() bool { return b.health(target).State == want })
	return b.health(target)
}

func (b *bed) eventually(what string, holds func() bool) {
	b.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			b.t.Fatalf("never seen: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// get asks the front door once, over a connection of its own.
func (b *bed) get() (status int, body string) {
	b.t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	resp, err := client.Get("http://" + b.plane.FrontDoor(b.group))
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body) // an answer that breaks off is what some tests look for
	return resp.StatusCode, string(text)
}
