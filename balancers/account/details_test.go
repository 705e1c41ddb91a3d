// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// firewall has the same web ACL for all load balancers.
type firewall struct{ asked int }

func (f *firewall) WebACL(context.Context, string) (string, error) {
	f.asked++
	return "acl", nil
}

func (f *firewall) Named(context.Context, string) (string, error) { return "", nil }

// Attributes take a call for each target group, and AWS answers one call a second that asks for a web ACL.
func TestWhatTakesManyCallsIsReadWhereItIsWanted(t *testing.T) {
	c, waf, classic := newCloud(), &firewall{}, &firewall{}
	c.add("balancer", tagged("g"))
	c.addGroup("first", "g", "shop/a-web:80")
	c.addGroup("second", "g", "shop/b-web:80")
	v, _ := viewOf(c)
	v.WAF, v.WAFClassic = waf, classic
	complete := func(wanted stack.Stack) bool {
		t.Helper()
		wanted.ID = id("g")
		if _, err := v.Stack(t.Context(), wanted.ID); err != nil {
			t.Fatal(err)
		}
		read, err := v.Complete(t.Context(), wanted)
		if err != nil {
			t.Fatal(err)
		}
		return read
	}
	group := func(part string, attributes map[string]string) stack.Stack {
		return stack.Stack{TargetGroups: []stack.TargetGroup{{Part: part, Attributes: attributes}}}
	}
	if complete(group("shop/a-web:80", nil)) || c.calls["TargetGroupAttributes"] != 0 || waf.asked != 0 {
		t.Errorf("calls %v, web ACL asked for %d times: nothing is wanted", c.calls, waf.asked)
	}
	sticky := group("shop/b-web:80", map[string]string{"stickiness.enabled": "true"})
	if !complete(sticky) || complete(sticky) || c.calls["TargetGroupAttributes"] != 1 {
		t.Errorf("calls %v, want one, for the target group of which attributes are wanted", c.calls)
	}
	guarded := stack.Stack{LoadBalancers: []stack.LoadBalancer{{WebACL: aws.String("acl")}}}
	if !complete(guarded) || complete(guarded) || waf.asked != 1 {
		t.Errorf("the web ACL is asked for %d times, want once", waf.asked)
	}
	formerly := stack.Stack{LoadBalancers: []stack.LoadBalancer{{ClassicACL: aws.String("acl")}}}
	if classic.asked != 0 || !complete(formerly) || complete(formerly) || classic.asked != 1 || waf.asked != 1 {
		t.Errorf("the web ACL of WAF Classic is asked for %d times, want once", classic.asked)
	}
	seen, err := v.Stack(t.Context(), id("g"))
	if err != nil || *seen.LoadBalancers[0].WebACL != "acl" || *seen.LoadBalancers[0].ClassicACL != "acl" || seen.TargetGroups[0].Attributes != nil || seen.TargetGroups[1].Attributes == nil {
		t.Errorf("stack %+v, error %v: want the web ACL, and attributes of the second target group alone", seen, err)
	}
}

// brokenWAF answers nobody, or all but one.
type brokenWAF struct {
	err   error
	bad   string // "" for all
	asked int
}

func (b *brokenWAF) WebACL(_ context.Context, loadBalancer string) (string, error) {
	b.asked++
	if b.bad == "" || b.bad == loadBalancer {
		return "", b.err
	}
	return "acl", nil
}

func (b *brokenWAF) Named(context.Context, string) (string, error) {
	return b.WebACL(context.Background(), "")
}

func (b *brokenWAF) Protection(_ context.Context, loadBalancer string) (string, bool, error) {
	id, err := b.WebACL(context.Background(), loadBalancer)
	return id, true, err
}

func (b *brokenWAF) Subscribed(context.Context) (bool, error) {
	_, err := b.WebACL(context.Background(), "")
	return err == nil, err
}

// Whoever else asks of a service that fails, it is asked once a minute: those who wait for its few calls would have all workers.
func TestServicesThatFailAreSpared(t *testing.T) {
	denied, gone := &smithy.GenericAPIError{Code: "AccessDeniedException"}, &smithy.GenericAPIError{Code: "WAFNonexistentItemException"}
	for name, tc := range map[string]struct {
		err        error
		bad        string
		want       int // calls in the first minute
		afterwards int // calls of the next pass over each group, when it answers
	}{
		"denied":            {err: denied, want: 1, afterwards: 10},
		"no answer":         {err: errors.New("no answer"), want: 1, afterwards: 10},
		"a single one gone": {err: gone, bad: "balancer-3", want: 15, afterwards: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c, waf, shield := newCloud(), &brokenWAF{err: tc.err, bad: tc.bad}, &brokenWAF{err: tc.err, bad: tc.bad}
			v, clock := viewOf(c)
			v.WAF, v.Shield = &SparingACLs{WebACLs: waf, Clock: clock}, &SparingProtections{Protections: shield, Clock: clock}
			for i := range 10 {
				c.add(fmt.Sprint("balancer-", i), tagged(fmt.Sprint(i)))
			}
			failures := 0
			pass := func() {
				t.Helper()
				for i := range 10 {
					wanted := stack.Stack{ID: id(fmt.Sprint(i)), LoadBalancers: []stack.LoadBalancer{{WebACL: aws.String("acl"), Shield: aws.Bool(true)}}}
					if _, err := v.Stack(t.Context(), wanted.ID); err != nil {
						t.Fatal(err)
					}
					if _, err := v.Complete(t.Context(), wanted); err != nil {
						failures++
					}
				}
			}
			for range 6 {
				pass()
				clock.SetTime(clock.Now().Add(failedAge / 6))
			}
			if waf.asked != tc.want || shield.asked != tc.want {
				t.Errorf("WAF was asked %d times, Shield %d times in a minute, want %d", waf.asked, shield.asked, tc.want)
			}
			if want := 60; tc.bad == "" && failures != want {
				t.Errorf("%d passes were told that it fails, want %d", failures, want)
			}
			waf.err, shield.err, waf.asked, shield.asked = nil, nil, 0, 0
			if pass(); waf.asked != tc.afterwards || shield.asked != tc.afterwards {
				t.Errorf("WAF was asked %d times, Shield %d times after that, want %d", waf.asked, shield.asked, tc.afterwards)
			}
		})
	}
}

// A call that fails is spared, whoever makes it, and has no other call of the service fail. Who has gone tells nothing of it.
func TestEachCallIsSparedForItself(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	waf, shield := &brokenWAF{}, &brokenWAF{}
	acls, protections := &SparingACLs{WebACLs: waf, Clock: clock}, &SparingProtections{Protections: shield, Clock: clock}
	ended, end := context.WithCancel(t.Context())
	end()
	webACL := func(ctx context.Context) error { _, err := acls.WebACL(ctx, "a"); return err }
	named := func(ctx context.Context) error { _, err := acls.Named(ctx, "a"); return err }
	protection := func(ctx context.Context) error { _, _, err := protections.Protection(ctx, "a"); return err }
	subscribed := func(ctx context.Context) error { _, err := protections.Subscribed(ctx); return err }
	for name, tc := range map[string]struct {
		service       *brokenWAF
		denied, other func(context.Context) error
	}{
		"names of web ACLs":          {waf, named, webACL},
		"web ACLs of load balancers": {waf, webACL, named},
		"the subscription":           {shield, subscribed, protection},
		"protections":                {shield, protection, subscribed},
	} {
		t.Run(name, func(t *testing.T) {
			clock.SetTime(clock.Now().Add(failedAge))
			tc.service.err, tc.service.asked = &smithy.GenericAPIError{Code: "AccessDeniedException"}, 0
			gone, first, again := tc.denied(ended), tc.denied(t.Context()), tc.denied(t.Context())
			if gone == nil || first == nil || again == nil || tc.service.asked != 2 {
				t.Errorf("errors %v, %v and %v: asked %d times, want 2", gone, first, again, tc.service.asked)
			}
			tc.service.err = nil
			if err := tc.other(t.Context()); err != nil || tc.service.asked != 3 {
				t.Errorf("the other call: error %v, %d calls; want it made", err, tc.service.asked)
			}
		})
	}
}

// Attributes that may not be read are not known, which is told where some are wanted, until they may be.
func TestAttributesThatMayNotBeRead(t *testing.T) {
	c := newCloud()
	c.add("balancer", tagged("g"))
	c.denied = true
	v, _ := viewOf(c)
	look := func() (ofBalancer, ofListener map[string]string) {
		t.Helper()
		seen, err := v.Stack(t.Context(), id("g"))
		if err != nil || len(seen.LoadBalancers[0].Listeners) != 1 {
			t.Fatalf("stack %+v, error %v", seen, err)
		}
		return seen.LoadBalancers[0].Attributes, seen.LoadBalancers[0].Listeners[0].Attributes
	}
	if b, l := look(); b != nil || l != nil {
		t.Errorf("attributes %v and %v, want none to be known", b, l)
	}
	some := map[string]string{"key": "value"}
	wanted := stack.Stack{ID: id("g"), LoadBalancers: []stack.LoadBalancer{{Listeners: []stack.Listener{{Port: 80}, {Port: 443, Attributes: some}}}}}
	if read, err := v.Complete(t.Context(), wanted); read || err != nil {
		t.Errorf("read %v, error %v, though none are wanted", read, err)
	}
	wanted.LoadBalancers[0].Attributes, wanted.LoadBalancers[0].Listeners[0].Attributes = some, some
	calls := c.calls["Attributes"]
	if read, err := v.Complete(t.Context(), wanted); read || !awserr.IsPermission(err) || c.calls["Attributes"] != calls+1 {
		t.Errorf("read %v, error %v, %d calls: want one that is denied", read, err, c.calls["Attributes"]-calls)
	}
	c.denied = false
	if read, err := v.Complete(t.Context(), wanted); !read || err != nil {
		t.Errorf("read %v, error %v, when they may be read", read, err)
	}
	if b, l := look(); b == nil || l == nil {
		t.Errorf("attributes %v and %v, want both to be known", b, l)
	}
}

// The parts of a stack are known without a call for it.
func TestPartsNeedNoCall(t *testing.T) {
	c := newCloud()
	c.add("balancer", tagged("g"))
	c.addGroup("group", "g", "shop/a-web:80")
	v, _ := viewOf(c)
	seen, err := v.Parts(t.Context(), id("g"))
	if err != nil || len(seen.LoadBalancers) != 1 || len(seen.TargetGroups) != 1 || c.calls["Listeners"]+c.calls["Attributes"] > 0 {
		t.Errorf("parts %+v, error %v, calls %v", seen, err, c.calls)
	}
	if seen, err = v.Stack(t.Context(), id("g")); err != nil || len(seen.LoadBalancers[0].Listeners) != 1 {
		t.Errorf("stack %+v, error %v: want it with listeners all the same", seen, err)
	}
	if seen, err := v.Parts(t.Context(), id("other")); err != nil || len(seen.LoadBalancers) > 0 {
		t.Errorf("of another one %+v, error %v", seen, err)
	}
}

// When a load balancer gets a web ACL of one kind, AWS may take off the one of the other kind: it is read again.
func TestAWebACLOfOneKindMayTakeTheOtherOff(t *testing.T) {
	c := newCloud()
	v, _ := viewOf(c)
	balancersOf(t, v, "g")
	balancer := stack.Ref{ID: "arn"}
	v.Note(id("g"), steps.CreateLoadBalancer{LoadBalancer: stack.LoadBalancer{Tags: tagged("g")}}, steps.Made{ID: "arn"})
	for _, step := range []struct {
		change       steps.Change
		acl, classic string
	}{
		{nil, "none", "none"},
		{steps.Set{Setting: steps.ClassicACL, LoadBalancer: balancer, Value: "id"}, "unknown", "id"},
		{steps.Set{Setting: steps.WebACL, LoadBalancer: balancer}, "none", "id"},
		{steps.Set{Setting: steps.WebACL, LoadBalancer: balancer, Value: "acl"}, "acl", "unknown"},
		{steps.Set{Setting: steps.ClassicACL, LoadBalancer: balancer}, "acl", "none"},
	} {
		if step.change != nil {
			v.Note(id("g"), step.change, steps.Made{})
		}
		seen, err := v.Stack(t.Context(), id("g"))
		if err != nil {
			t.Fatal(err)
		}
		text := func(acl *string) string { return cmp.Or(ptr.Deref(acl, "unknown"), "none") }
		if b := seen.LoadBalancers[0]; text(b.WebACL) != step.acl || text(b.ClassicACL) != step.classic {
			t.Errorf("after %+v: web ACLs %s and %s, want %s and %s", step.change, text(b.WebACL), text(b.ClassicACL), step.acl, step.classic)
		}
	}
}

// What is noted of a listener's certificates is what AWS then has: a new default one replaces the former, the list for SNI stays.
func TestCertificatesAreNoted(t *testing.T) {
	c := newCloud()
	v, _ := viewOf(c)
	balancersOf(t, v, "g")
	v.Note(id("g"), steps.CreateLoadBalancer{LoadBalancer: stack.LoadBalancer{Tags: tagged("g")}}, steps.Made{ID: "arn"})
	listener := stack.Ref{ID: "listener"}
	is := func(protocol string, certificates ...string) stack.Listener {
		return stack.Listener{Protocol: protocol, Certificates: certificates}
	}
	for _, step := range []struct {
		change steps.Change
		want   []string
	}{
		{steps.CreateListener{LoadBalancer: stack.Ref{ID: "arn"}, Listener: is("HTTPS", "a", "b")}, []string{"a"}},
		{steps.AddCertificate{Listener: listener, Certificate: "a"}, []string{"a", "a"}},
		{steps.AddCertificate{Listener: listener, Certificate: "b"}, []string{"a", "a", "b"}},
		{steps.AddCertificate{Listener: listener, Certificate: "a"}, []string{"a", "a", "b"}},
		{steps.ModifyListener{Listener: listener, To: is("HTTPS", "b", "a")}, []string{"b", "a", "b"}},
		{steps.RemoveCertificate{Listener: listener, Certificate: "a"}, []string{"b", "b"}},
		{steps.RemoveCertificate{Listener: listener, Certificate: "a"}, []string{"b", "b"}},
		{steps.ModifyListener{Listener: listener, To: is("HTTP")}, nil},
		{steps.ModifyListener{Listener: listener, To: is("HTTPS", "a")}, []string{"a"}},
	} {
		v.Note(id("g"), step.change, steps.Made{ID: listener.ID})
		seen, err := v.Stack(t.Context(), id("g"))
		if err != nil {
			t.Fatal(err)
		}
		if got := seen.LoadBalancers[0].Listeners[0].Certificates; !slices.Equal(got, step.want) {
			t.Errorf("after %T: certificates %q, want %q", step.change, got, step.want)
		}
	}
}

// addGroup adds a target group with the tags of a stack's part.
func (c *cloud) addGroup(arn, name, part string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.groups = append(c.groups, types.TargetGroup{TargetGroupArn: aws.String(arn), VpcId: aws.String("vpc")})
	c.tags[arn] = stack.Tags("c", stack.Ingresses, name, part)
}
