// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/routing"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// api is a bed whose load balancer an API call has made, with a group for each of some pods that say their name.
type api struct {
	*bed
	listener state.Listener
	groups   map[string]string
}

func newAPI(t *testing.T, delays state.Delays, pods ...string) *api {
	t.Helper()
	b := startBed(t, state.Options{Delays: &delays}, Options{})
	a := &api{bed: b, groups: map[string]string{}}
	lb, err := b.machine.CreateBalancer("", state.BalancerSpec{
		Name: "lb", ByAPI: true, Subnets: []string{"subnet-0a000000000000001", "subnet-0b000000000000002"},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.lb = lb.ARN
	for n, name := range append(pods, "empty") {
		group, err := b.machine.CreateGroup("", state.GroupSpec{
			Name: name, Protocol: state.ProtocolHTTP, Port: 80, VPC: ec2.DefaultVPCID, TargetType: state.TypeIP,
			HealthCheck: state.HealthCheck{Interval: 5, Timeout: 4, HealthyThreshold: 2},
		})
		if err != nil {
			t.Fatal(err)
		}
		a.groups[name], b.group = group.ARN, group.ARN
		if name != "empty" {
			_, target := pod(t, "0.20."+string(rune('1'+n)), says(name))
			b.register(target)
		}
	}
	a.listener, err = b.machine.CreateListener(state.ListenerSpec{
		LoadBalancer: lb.ARN, Protocol: state.ProtocolHTTP, Port: 80,
		Default: routing.Action{Fixed: &routing.FixedResponse{Status: "404", Body: "nothing here"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// rule makes a rule for a path.
func (a *api) rule(priority int, path string, action routing.Action) state.ListenerRule {
	a.t.Helper()
	made, err := a.machine.CreateRule(state.ListenerRule{
		Listener: a.listener.ARN, Priority: priority, Action: action,
		Conditions: []routing.Condition{{Field: routing.PathPattern, Values: []string{path}}},
	}, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	return made
}

func (a *api) door() string {
	a.t.Helper()
	a.eventually("front door", func() bool { return a.plane.ListenerDoor(a.listener.ARN) != "" })
	return a.plane.ListenerDoor(a.listener.ARN)
}

// ask sends one request and follows no redirect.
func (a *api) ask(path, host string) (status int, body, location string) {
	a.t.Helper()
	client := &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	req, err := http.NewRequest(http.MethodGet, "http://"+a.door()+path, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	req.Host = host
	resp, err := client.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return resp.StatusCode, string(text), resp.Header.Get("Location")
}

func (a *api) weighted(weights map[string]int) routing.Action {
	forward := &routing.Forward{}
	for _, name := range []string{"one", "two", "empty"} {
		if weight, ok := weights[name]; ok {
			forward.Groups = append(forward.Groups, routing.Weighted{Group: a.groups[name], Weight: weight})
		}
	}
	return routing.Action{Forward: forward}
}

func TestRulesRoute(t *testing.T) {
	a := newAPI(t, state.Delays{}, "one", "two")
	made := map[string]state.ListenerRule{
		"/one": a.rule(1, "/one", routing.ForwardTo(a.groups["one"])), "/one*": a.rule(2, "/one*", routing.ForwardTo(a.groups["two"])),
		"/empty": a.rule(3, "/empty", routing.ForwardTo(a.groups["empty"])),
		"/away":  a.rule(4, "/away*", routing.Action{Redirect: &routing.Redirect{Protocol: "HTTPS", Port: "443", Path: "/x/#{path}", Query: "#{query}", Status: "HTTP_301"}}),
		"/stop":  a.rule(5, "/stop", routing.Action{Fixed: &routing.FixedResponse{Status: "418", Body: "stop"}}),
		"/none":  a.rule(6, "/none", a.weighted(map[string]int{"one": 0, "two": 0})),
		"/split": a.rule(7, "/split", a.weighted(map[string]int{"one": 0, "empty": 5})),
	}
	for _, name := range []string{"one", "two"} {
		a.eventually(name, func() bool { return len(a.machine.Route(a.groups[name])) == 1 })
	}
	for path, want := range map[string]struct {
		rule     string
		group    string
		status   int
		body     string
		location string
	}{
		"/one":           {"/one", "one", 200, "one", ""},
		"/one?a=b":       {"/one", "one", 200, "one", ""},
		"/one/":          {"/one*", "two", 200, "two", ""},
		"/empty":         {"/empty", "empty", 503, "", ""},
		"/away/to?a=%20": {"/away", "", 301, "", "https://Shop.example:443/x/away/to?a=%20"},
		"/stop":          {"/stop", "", 418, "stop", ""},
		"/none":          {"/none", "", 503, "", ""},
		"/split":         {"/split", "empty", 503, "", ""},
		"/One":           {"", "", 404, "nothing here", ""},
	} {
		t.Run(path, func(t *testing.T) {
			seen := len(a.plane.Requests(0))
			status, body, location := a.ask(path, "Shop.example:8080")
			if status != want.status || want.body != "" && body != want.body || location != want.location {
				t.Errorf("answer is %d %q, location %q; want %+v", status, body, location, want)
			}
			a.eventually("record", func() bool { return len(a.plane.Requests(seen)) == 1 })
			r := a.plane.Requests(seen)[0]
			if r.Group != a.groups[want.group] || want.rule != "" && r.Rule != made[want.rule].ARN || r.Listener != a.listener.ARN {
				t.Errorf("record is %+v, want rule %s and group %s", r, want.rule, want.group)
			}
		})
	}
}

func TestWeightsAreTheSharesOfGroups(t *testing.T) {
	a := newAPI(t, state.Delays{}, "one", "two")
	a.rule(1, "/", a.weighted(map[string]int{"one": 3, "two": 1}))
	for _, name := range []string{"one", "two"} {
		a.eventually(name, func() bool { return len(a.machine.Route(a.groups[name])) == 1 })
	}
	got := map[string]int{}
	for range 20 {
		_, body, _ := a.ask("/", "a.com")
		got[body]++
	}
	if diff := cmp.Diff(map[string]int{"one": 15, "two": 5}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

// TestTwoChangesAreInOneBatch moves a path from one group to the other by two calls: nobody may see the 404 between them.
func TestTwoChangesAreInOneBatch(t *testing.T) {
	a := newAPI(t, state.Delays{RuleBatch: 30 * time.Second}, "one", "two") // 0.3 s
	old := a.rule(1, "/", routing.ForwardTo(a.groups["one"]))
	a.eventually("one", func() bool { _, body, _ := a.ask("/", "a.com"); return body == "one" })
	if err := a.machine.DeleteRule(old.ARN); err != nil {
		t.Fatal(err)
	}
	a.rule(2, "/", routing.ForwardTo(a.groups["two"]))
	a.eventually("two", func() bool {
		status, body, _ := a.ask("/", "a.com")
		if status == http.StatusNotFound {
			t.Fatal("the deletion was seen before the new rule")
		}
		return body == "two"
	})
}

// A rule and the routes of its groups are of one moment: a group that a rule no longer sends to loses its routes.
func TestNoRequestIsLostWhileARuleChanges(t *testing.T) {
	a := newAPI(t, state.Delays{}, "one", "two")
	groups := []string{a.groups["one"], a.groups["two"]}
	asked := a.rule(1, "/", routing.ForwardTo(groups[0]))
	kept := a.rule(2, "/kept", routing.ForwardTo(groups[1]))
	healthy := func(group string) { a.eventually(group, func() bool { return len(a.machine.Route(group)) == 1 }) }
	healthy(groups[0])
	address := "http://" + a.door() + "/"
	ctx, stop := context.WithCancel(t.Context())
	const count = 16
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: count}}
	defer client.CloseIdleConnections()
	var clients sync.WaitGroup
	for range count {
		clients.Go(func() {
			for ctx.Err() == nil {
				resp, err := client.Get(address)
				if err != nil {
					t.Error(err)
					return
				}
				_, err = io.Copy(io.Discard, resp.Body)
				if err = errors.Join(err, resp.Body.Close()); err != nil {
					t.Error(err)
				}
				if resp.StatusCode == http.StatusServiceUnavailable { // 504 is that of a busy machine
					t.Error("a request found no target")
				}
			}
		})
	}
	for range 100 {
		healthy(groups[1])
		a.forward(asked, groups[1])
		a.forward(kept, groups[0])
		slices.Reverse(groups)
	}
	stop()
	clients.Wait()
}

func (a *api) forward(rule state.ListenerRule, group string) {
	a.t.Helper()
	if _, err := a.machine.ModifyRule(rule.ARN, state.ListenerRule{Action: routing.ForwardTo(group)}, false); err != nil {
		a.t.Fatal(err)
	}
}

func TestLoadBalancerTakesNothingInBeforeItIsActive(t *testing.T) {
	a := newAPI(t, state.Delays{Provisioning: region.Range{Min: 20 * time.Second, Max: 20 * time.Second}}) // 0.2 s
	if door := a.plane.ListenerDoor(a.listener.ARN); door != "" {
		t.Errorf("front door is %s already", door)
	}
	if status, body, _ := a.ask("/", "a.com"); status != http.StatusNotFound || body != "nothing here" {
		t.Errorf("answer is %d %q", status, body)
	}
}

func TestSecurityGroupsHoldClientsOff(t *testing.T) {
	a := newAPI(t, state.Delays{})
	group, err := a.cloud.EC2.CreateSecurityGroup("", ec2.SecurityGroupSpec{Name: "front"})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.machine.SetSecurityGroups(a.lb, []string{group.ID}); err != nil {
		t.Fatal(err)
	}
	asked := func() error {
		conn, err := net.Dial("tcp", a.door())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n") // the answer tells
		_ = conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
		_, err = conn.Read(make([]byte, 1))
		return err
	}
	allow := func(cidr string, port int) {
		t.Helper()
		rule := ec2.Rule{Protocol: "tcp", From: port, To: port, Source: ec2.Source{CIDR: netip.MustParsePrefix(cidr)}}
		if err := a.cloud.EC2.AuthorizeIngress("", group.ID, []ec2.Permission{{Rule: rule}}); err != nil {
			t.Fatal(err)
		}
		if err := asked(); (err == nil) != (cidr == "0.0.0.0/0" && port == 80) || err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("with a rule for %s and port %d: %v", cidr, port, err)
		}
	}
	if err := asked(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("without a rule: %v", err)
	}
	allow("0.0.0.0/0", 81)
	allow("10.9.0.0/16", 80)
	allow("0.0.0.0/0", 80)
}

func TestChangedPortHasAnotherDoor(t *testing.T) {
	a := newAPI(t, state.Delays{})
	before := a.door()
	if _, err := a.machine.ModifyListener(a.listener.ARN, state.ListenerSpec{Port: 81}); err != nil {
		t.Fatal(err)
	}
	a.eventually("another door", func() bool { return a.plane.ListenerDoor(a.listener.ARN) != before })
	if status, body, _ := a.ask("/", "a.com"); status != http.StatusNotFound || body != "nothing here" {
		t.Errorf("answer is %d %q", status, body)
	}
}

func TestHTTPSListenerWithoutCertificatesEndsHandshakes(t *testing.T) {
	a := newAPI(t, state.Delays{})
	const arn = "arn:aws:acm:eu-west-1:123456789012:certificate/a"
	a.machine.PutCertificate(arn)
	secure, err := a.machine.CreateListener(state.ListenerSpec{
		LoadBalancer: a.lb, Protocol: state.ProtocolHTTPS, Port: 443, Certificates: []string{arn}, Default: a.listener.Default,
	})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := tls.Dial("tcp", a.plane.ListenerDoor(secure.ARN), &tls.Config{InsecureSkipVerify: true})
	if err == nil {
		conn.Close()
		t.Error("the handshake succeeds")
	}
}
