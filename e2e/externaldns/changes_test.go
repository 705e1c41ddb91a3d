//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// serve deploys an app and so many members of a group of its name, and waits until each is served by the load balancer that its record names.
func serve(t *testing.T, name string, count int) (app *testbed.App, dns *externalDNS, members []*networkingv1.Ingress, balancer string) {
	t.Helper()
	app = deploy(t, name)
	watchStatuses(t, app)
	dns = startExternalDNS(t, name, "public")
	for i := range count {
		member := newIngress(app, fmt.Sprintf("%s-%d", name, i), name, prefix+"scheme=internal")
		create(t, member)
		members = append(members, member)
	}
	for _, member := range members {
		balancer = awaitBalancer(t, member, "")
		dns.awaitRecord(t, hostOf(member.Name), balancer)
		suite.Eventually(t, "answers", func() error { return answers(t, dns, app, hostOf(member.Name)) })
	}
	bed.AwaitRolled(t, app)
	return app, dns, members, balancer
}

// A load balancer with another scheme is another one. Each record changes once, to one that answers, while the former one still does.
func TestRecordsFollowAReplacedLoadBalancer(t *testing.T) {
	t.Parallel()
	app, dns, members, before := serve(t, "scheme", 2)
	var stops []func()
	for _, member := range members {
		stops = append(stops, underLoad(t, dns, app, hostOf(member.Name)))
	}
	for _, member := range members { // until the second one agrees, the members contradict each other
		annotate(t, member, "scheme", "internet-facing")
	}
	after := awaitBalancer(t, members[0], before)
	for _, member := range members {
		dns.awaitRecord(t, hostOf(member.Name), after)
	}
	suite.Eventually(t, "the former load balancer to be gone", func() error {
		if _, ok := bed.AWS.ELB.BalancerNamed(before); ok {
			return errors.New("it is there")
		}
		return nil
	})
	dns.awaitSynchronized(t)
	for i, member := range members {
		stops[i]()
		dns.wantHistory(t, hostOf(member.Name), "CREATE "+before, "UPSERT "+after)
	}
}

// A record goes when its Ingress does, and for nothing else: targetgate restarts, a member that asks for something wrong, other members that
// come, change and go.
func TestRecordsGoWithTheirIngressesOnly(t *testing.T) {
	app, dns, members, balancer := serve(t, "kept", 2)
	bad, good := members[0], members[1]
	stopBad, stopGood := underLoad(t, dns, app, hostOf(bad.Name)), underLoad(t, dns, app, hostOf(good.Name))

	suite.Must(t, bed.Targetgate.Restart(t.Context()))
	bed.Targetgate.Kill()
	dns.awaitSynchronized(t) // while targetgate is down
	suite.Must(t, bed.Targetgate.Restart(t.Context()))
	lead(t, dns, app, good, "restarted")

	for _, wrong := range []struct{ annotation, value string }{
		{"listen-ports", "nonsense"}, {"scheme", "internet-facing"}, {"group.order", "5000"},
	} {
		annotate(t, bad, wrong.annotation, wrong.value)
		suite.Eventually(t, "the bad member to be told of "+wrong.annotation, func() error { return warned(t, bad, wrong.annotation) })
		lead(t, dns, app, good, "beside-"+strings.ReplaceAll(wrong.annotation, ".", "-"))
		dns.awaitSynchronized(t)
		suite.Change(t, bed, bad, func(i *networkingv1.Ingress) { delete(i.Annotations, prefix+wrong.annotation) })
	}

	annotate(t, good, "listen-ports", `[{"HTTP": 80}, {"HTTP": 8080}]`)
	third := newIngress(app, "kept-2", "kept")
	create(t, third)
	dns.awaitRecord(t, hostOf(third.Name), balancer)
	suite.Eventually(t, "answers on another port", func() error { return answers(t, dns, app, hostOf(good.Name)+":8080") })
	suite.Eventually(t, "both ports in the status", func() error {
		suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(bad), bad))
		if ports := bad.Status.LoadBalancer.Ingress[0].Ports; len(ports) != 2 {
			return fmt.Errorf("there are %v", ports)
		}
		return nil
	})
	dns.awaitSynchronized(t)
	for _, member := range append(members, third) {
		dns.wantHistory(t, hostOf(member.Name), "CREATE "+balancer)
	}

	stopBad()
	remove(t, bad)
	dns.awaitNone(t, hostOf(bad.Name))
	dns.wantHistory(t, hostOf(bad.Name), "CREATE "+balancer, "DELETE "+balancer)
	dns.wantHistory(t, hostOf(good.Name), "CREATE "+balancer)
	stopGood()
	remove(t, good)
	remove(t, third)
	dns.awaitNone(t, hostOf(good.Name), hostOf(third.Name))
}

// lead has the Ingress lead a further host to the app, and waits until it has a record and answers.
func lead(t *testing.T, dns *externalDNS, app *testbed.App, ingress *networkingv1.Ingress, name string) {
	t.Helper()
	suite.Change(t, bed, ingress, func(i *networkingv1.Ingress) {
		another := *i.Spec.Rules[0].DeepCopy()
		another.Host = hostOf(name)
		i.Spec.Rules = append(i.Spec.Rules, another)
	})
	suite.Eventually(t, "answers by "+hostOf(name), func() error { return answers(t, dns, app, hostOf(name)) })
}

// warned is an error unless an event about the Ingress warns of the text.
func warned(t *testing.T, ingress *networkingv1.Ingress, text string) error {
	t.Helper()
	var list eventsv1.EventList
	suite.Must(t, bed.Client.List(t.Context(), &list, client.InNamespace(ingress.Namespace)))
	for _, event := range list.Items {
		if event.Regarding.Name == ingress.Name && event.Type == "Warning" && strings.Contains(event.Note, text) {
			return nil
		}
	}
	return fmt.Errorf("no event warns of %q", text)
}
