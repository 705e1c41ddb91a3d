//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// member is one of a group in the app's namespace, which leads a host of its name to the app.
func member(app *testbed.App, name, group string, annotations ...string) *networkingv1.Ingress {
	out := newIngress(name, []networkingv1.IngressRule{rule(name+".example.com", "/ "+app.Name)},
		append([]string{"group.name=" + group, "target-type=ip", "scheme=internal"}, annotations...)...)
	out.Namespace = app.Name
	return out
}

// serveGroup deploys the app and so many members of a group of its name, and waits until all are served.
func serveGroup(t *testing.T, app *testbed.App, count int) (members []*networkingv1.Ingress, balancer string) {
	t.Helper()
	bed.Deploy(t, app)
	for i := range count {
		m := member(app, fmt.Sprintf("%s-%02d", app.Name, i), app.Name)
		create(t, m)
		members = append(members, m)
	}
	balancer = awaitHost(t, members[0])
	suite.Eventually(t, "all members to be served", func() error { return allAnswer(t, app, balancer, members) })
	return members, balancer
}

func allAnswer(t *testing.T, app *testbed.App, balancer string, members []*networkingv1.Ingress) (errs error) {
	t.Helper()
	for _, m := range members {
		errs = errors.Join(errs, answeredBy(t, app, balancer, m.Name+".example.com", "/"))
	}
	return errs
}

// said is an error unless an event about the Ingress has the text.
func said(t *testing.T, ingress *networkingv1.Ingress, text string) error {
	t.Helper()
	var list eventsv1.EventList
	suite.Must(t, bed.Client.List(t.Context(), &list, client.InNamespace(ingress.Namespace)))
	var notes []string
	for _, event := range list.Items {
		if event.Regarding.Kind != "Ingress" || event.Regarding.Name != ingress.Name {
			continue
		}
		if strings.Contains(event.Note, text) {
			return nil
		}
		notes = append(notes, event.Reason+": "+event.Note)
	}
	return fmt.Errorf("no event about %s has %q: %q", ingress.Name, text, notes)
}

// Rule 14: a bad member keeps what it had, is told why, and hurts nobody; it can be deleted, as can others.
func TestABadMemberHurtsItselfAlone(t *testing.T) {
	t.Parallel()
	app := newApp("isolated")
	app.Replicas = 1
	members, balancer := serveGroup(t, app, 20)
	bad, good, deleted := members[7], members[3], members[12]
	stop := underLoad(t, app, balancer, bad.Name+".example.com", "/")
	for i, fault := range []struct{ annotation, value, said string }{
		{"listen-ports", "nonsense", "listen-ports"},
		{"scheme", "internet-facing", "scheme"},
		{"certificate-arn", "arn:aws:acm:eu-west-1:123456789012:certificate/0", "certificate"},
		{"target-group-attributes", "no.such.attribute=1", "no.such.attribute"},
		{"group.order", "5000", "group.order"},
		{"success-codes", "9999", "9999"},
		{"healthcheck-interval-seconds", "1", "healthcheck-interval-seconds"},
	} {
		change(t, bad, func(m *networkingv1.Ingress) { m.Annotations[prefix+fault.annotation] = fault.value })
		path := fmt.Sprintf("/new-%d", i)
		change(t, good, func(m *networkingv1.Ingress) {
			m.Spec.Rules[0] = rule(good.Name+".example.com", path+" isolated")
		})
		suite.Eventually(t, "another member to be changed beside "+fault.annotation, func() error {
			return answeredBy(t, app, balancer, good.Name+".example.com", path)
		})
		suite.Eventually(t, "the bad member to be told of "+fault.annotation, func() error {
			return said(t, bad, fault.said)
		})
		change(t, bad, func(m *networkingv1.Ingress) {
			if delete(m.Annotations, prefix+fault.annotation); fault.annotation == "scheme" {
				m.Annotations[prefix+"scheme"] = "internal"
			}
		})
	}
	stop()
	change(t, bad, func(m *networkingv1.Ingress) { m.Annotations[prefix+"scheme"] = "public" })
	for _, m := range []*networkingv1.Ingress{deleted, bad} {
		suite.Must(t, bed.Client.Delete(t.Context(), m.DeepCopy()))
		suite.Eventually(t, m.Name+" to be gone", func() error {
			err := bed.Client.Get(t.Context(), client.ObjectKeyFromObject(m), &networkingv1.Ingress{})
			if err == nil {
				return errors.New("it is there")
			}
			return client.IgnoreNotFound(err)
		})
		suite.Eventually(t, "its rules to be gone", func() error {
			status, _, err := ask(t, balancer, m.Name+".example.com", "/")
			if err == nil && status != http.StatusNotFound {
				err = fmt.Errorf("answered with %d, want 404", status)
			}
			return err
		})
	}
	suite.Must(t, allAnswer(t, app, balancer, members[13:]))
}

// Rule 20: a login that cannot be set up is said, and the Ingress stays as it was: never served without it.
func TestALoginThatCannotBeSetUpIsSaid(t *testing.T) {
	t.Parallel()
	app := newApp("unsupported")
	app.Replicas = 1
	ingress, balancer, host := serve(t, app, "target-type=ip")
	change(t, ingress, func(i *networkingv1.Ingress) {
		i.Annotations[prefix+"auth-type"] = "oidc"
		i.Spec.Rules[0].HTTP.Paths[0].Path = "/secret"
	})
	suite.Eventually(t, "an event", func() error { return said(t, ingress, "auth-type") })
	suite.Must(t, answeredBy(t, app, balancer, host, "/"))
	never := member(app, "unsupported-new", "unsupported-new", "auth-type=cognito")
	create(t, never)
	suite.Eventually(t, "an event", func() error { return said(t, never, "auth-type") })
	suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(never), never))
	if len(never.Status.LoadBalancer.Ingress) > 0 {
		t.Errorf("the status is %v, want no load balancer", never.Status)
	}
}

// A group without work costs no call, and one path a constant number of calls.
func TestCallsOfAGroup(t *testing.T) {
	app := newApp("calls")
	app.Replicas = 1
	members, balancer := serveGroup(t, app, 10)
	bed.AwaitRolled(t, app)
	lead := func(path string) (calls []string) {
		t.Helper()
		since := callsSoFar()
		change(t, members[4], func(m *networkingv1.Ingress) { m.Spec.Rules[0] = rule(members[4].Name+".example.com", path+" calls") })
		suite.Eventually(t, "the path to be "+path, func() error {
			if len(writesSince(since)) == 0 {
				return errors.New("nothing is written")
			}
			return answeredBy(t, app, balancer, members[4].Name+".example.com", path)
		})
		suite.Eventually(t, "no more writes", isQuiet)
		for _, call := range bed.AWS.Calls(since) {
			if call.Principal == bed.AccessKey() {
				calls = append(calls, call.Operation)
			}
		}
		return calls
	}
	suite.Eventually(t, "no more writes", isQuiet)
	lead("/first") // which finds out that the load balancer is active now
	if calls := lead("/second"); !slices.Equal(calls, []string{"ModifyRule"}) {
		t.Errorf("calls %v, want ModifyRule alone", calls)
	}
}

// isQuiet is an error unless targetgate has written nothing to AWS for some seconds.
func isQuiet() error {
	for _, call := range bed.AWS.Calls(0) {
		if call.Principal == bed.AccessKey() && isWrite(call) && time.Since(call.Received) < 3*time.Second {
			return fmt.Errorf("%s at %s", call.Operation, call.Received)
		}
	}
	return nil
}

// Rule 14: a member says something for all of its group that AWS refuses. It is held; the load balancer reaches its targets, and others
// come and go.
func TestASettingOfAGroupThatAWSRefusesHoldsItsMemberAlone(t *testing.T) {
	t.Parallel()
	app := newApp("refused")
	app.Replicas = 2
	members, balancer := serveGroup(t, app, 1)
	stop := underLoad(t, app, balancer, members[0].Name+".example.com", "/")
	forward := func(account string) string {
		return fmt.Sprintf(`actions.%s={"type":"forward","targetGroupARN":"arn:aws:elasticloadbalancing:eu-west-1:%s:targetgroup/gone/0123456789abcdef"}`,
			app.Name, account)
	}
	for i, tc := range []struct{ annotation, code string }{
		{"security-groups=sg-0123456789abcdef0", "InvalidSecurityGroup"},
		{"security-group-prefix-lists=pl-0123456789abcdef0", "InvalidPrefixListID.NotFound"},
		{forward("123456789012"), "TargetGroupNotFound"},
		{forward("111122223333"), "AccessDenied"},
	} {
		bad := member(app, fmt.Sprintf("%s-bad-%d", app.Name, i), app.Name, tc.annotation)
		if strings.HasPrefix(tc.annotation, "actions.") {
			bad.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Port = networkingv1.ServiceBackendPort{Name: "use-annotation"}
		}
		create(t, bad)
		suite.Eventually(t, "an event", func() error { return said(t, bad, tc.code) })
		good := member(app, fmt.Sprintf("%s-good-%d", app.Name, i), app.Name)
		create(t, good)
		suite.Eventually(t, "another member to be served", func() error {
			return answeredBy(t, app, balancer, good.Name+".example.com", "/")
		})
		for _, m := range []*networkingv1.Ingress{good, bad} {
			suite.Must(t, bed.Client.Delete(t.Context(), m.DeepCopy()))
			awaitDeleted(t, m)
		}
	}
	stop()
}

// All attributes of a load balancer are set with one call, which AWS refuses as a whole.
func TestAnAttributeThatAWSRefusesHoldsItsMemberAlone(t *testing.T) {
	t.Parallel()
	app := newApp("attributes")
	_, name := serveGroup(t, app, 1)
	bad := member(app, app.Name+"-bad", app.Name, "load-balancer-attributes=access_logs.s3.enabled=true")
	create(t, bad)
	suite.Eventually(t, "an event", func() error { return said(t, bad, "InvalidConfigurationRequest") })
	good := member(app, app.Name+"-good", app.Name, "load-balancer-attributes=idle_timeout.timeout_seconds=77")
	create(t, good)
	suite.Eventually(t, "another member's attribute", func() error {
		balancer, _ := bed.AWS.ELB.BalancerNamed(name)
		attributes, err := bed.AWS.ELB.BalancerAttributes(balancer.ARN, nil)
		if got := attributes["idle_timeout.timeout_seconds"]; err == nil && got != "77" {
			err = fmt.Errorf("it is %q", got)
		}
		return err
	})
}
