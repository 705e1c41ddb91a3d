// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/targetgate/targetgate/e2e/emulator/acm"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/region"
)

var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

var bothZones = []string{"subnet-0a000000000000001", "subnet-0b000000000000002"}

// bed is a machine with one load balancer and one attached group, and a clock that the test moves.
type bed struct {
	*Machine
	t     *testing.T
	clock *testclock.FakeClock
	group string
	lb    string
	// answer decides how a health check goes; checks pass by default.
	answer func(Probe) Result
	probes int
}

// in makes a machine in a region with two VPCs and no lag.
func in(settings region.Options, opts Options) *Machine {
	r := region.New(settings)
	network := ec2.New(r, ec2.Options{VPCs: []ec2.VPC{ec2.DefaultVPC(r.Name()), ec2.PeeredVPC(r.Name())}, Lag: &region.Range{}})
	return New(r, network, acm.New(r, region.Range{}), opts)
}

func newBed(t *testing.T, opts Options, kind string) *bed {
	t.Helper()
	return newBedIn(t, region.Options{}, opts, kind)
}

func newBedIn(t *testing.T, settings region.Options, opts Options, kind string) *bed {
	t.Helper()
	b := &bed{t: t, clock: testclock.NewFakeClock(epoch), answer: passing}
	settings.Clock = b.clock
	b.Machine = in(settings, opts)
	lb, err := b.CreateBalancer("", BalancerSpec{Name: "lb", Type: kind, Subnets: bothZones})
	if err != nil {
		t.Fatal(err)
	}
	b.lb = lb.ARN
	b.group = b.addGroup(GroupSpec{Name: "web"}, 80)
	return b
}

// addGroup creates a group of ip targets for the bed's load balancer, and attaches it when a port is given.
func (b *bed) addGroup(spec GroupSpec, port int) string {
	b.t.Helper()
	spec.VPC, spec.TargetType = ec2.DefaultVPCID, TypeIP
	protocol := b.protocol()
	spec.Protocol, spec.Port = protocol, 8080
	g, err := b.CreateGroup("", spec)
	if err != nil {
		b.t.Fatal(err)
	}
	if port != 0 {
		b.attach(g.ARN, port)
	}
	return g.ARN
}

func (b *bed) protocol() string {
	if b.balancers[b.lb].Type == Network {
		return ProtocolTCP
	}
	return ProtocolHTTP
}

func (b *bed) attach(group string, port int) Listener {
	b.t.Helper()
	l, err := b.CreateListener(ListenerSpec{LoadBalancer: b.lb, Protocol: b.protocol(), Port: port, Group: group})
	if err != nil {
		b.t.Fatal(err)
	}
	return l
}

func passing(p Probe) Result {
	if p.Protocol == ProtocolTCP {
		return Result{}
	}
	return Result{Code: 200}
}

func failing(Probe) Result { return Result{Failed: true} }

func ip(id string) Target { return Target{Key: Key{ID: id, Port: 8080}} }

func (b *bed) register(ids ...string) {
	b.t.Helper()
	if err := b.Register(b.group, targets(ids...)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) deregister(ids ...string) {
	b.t.Helper()
	if err := b.Deregister(b.group, targets(ids...)); err != nil {
		b.t.Fatal(err)
	}
}

func targets(ids ...string) []Target {
	var list []Target
	for _, id := range ids {
		list = append(list, ip(id))
	}
	return list
}

// pass moves the clock on by d, making every health check on its due time.
func (b *bed) pass(d time.Duration) {
	end := b.clock.Now().Add(d)
	for {
		probes, next := b.Advance()
		for _, p := range probes {
			b.probes++
			b.Report(p, b.answer(p))
		}
		switch {
		case len(probes) > 0:
			continue
		case next.IsZero() || next.After(end):
			b.clock.SetTime(end)
			return
		}
		b.clock.SetTime(next)
	}
}

func (b *bed) health(id string) Health {
	b.t.Helper()
	lines, err := b.Describe(b.group, []Target{ip(id)})
	if err != nil {
		b.t.Fatal(err)
	}
	return lines[0].Health
}

func (b *bed) wantHealth(id string, want Health) {
	b.t.Helper()
	if got := b.health(id); got != want {
		b.t.Errorf("health of %s after %v is %v (%q), want %v", id, b.clock.Since(epoch), got, got.Description, want)
	}
}

func (b *bed) routes() []string {
	ids := []string{}
	for _, t := range b.Route(b.group) {
		ids = append(ids, t.ID)
	}
	return ids
}

// when finds the moment of the first event that fits.
func (b *bed) when(fits func(Event) bool) time.Duration {
	b.t.Helper()
	for _, e := range b.Journal(0) {
		if fits(e) {
			return e.Time.Sub(epoch)
		}
	}
	b.t.Fatal("no such event in the journal")
	return 0
}

func turns(to Health) func(Event) bool {
	return func(e Event) bool { return e.Kind == Changed && e.To == to }
}

func is(kind EventKind) func(Event) bool {
	return func(e Event) bool { return e.Kind == kind }
}

// wantRefusal checks the code of a refusal; "" is none.
func wantRefusal(t *testing.T, err error, code string) {
	t.Helper()
	if code == "" && err != nil || code != "" && !refusal.Is(err, code) {
		t.Errorf("error is %v, want code %q", err, code)
	}
}
