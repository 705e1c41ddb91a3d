//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	emulated "github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/names"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// serve deploys the app and an Ingress that leads all paths of its host to it, and waits for answers.
func serve(t *testing.T, app *testbed.App, annotations ...string) (ingress *networkingv1.Ingress, balancer, host string) {
	t.Helper()
	bed.Deploy(t, app)
	host = app.Name + ".example.com"
	ingress = newIngress(app.Name, []networkingv1.IngressRule{rule(host, "/ "+app.Name)}, annotations...)
	create(t, ingress)
	balancer = awaitHost(t, ingress)
	suite.Eventually(t, "answers", func() error { return answeredBy(t, app, balancer, host, "/") })
	bed.AwaitRolled(t, app)
	return ingress, balancer, host
}

// targetGroups are those of the group of Ingresses by the value of their resource tag, their target type, and their control port if they
// have one.
func targetGroups(group string) (out []string, err error) {
	all, err := tagged()
	groups, groupsErr := bed.AWS.ELB.Groups(emulated.GroupFilter{})
	for _, g := range groups {
		if tags := all[g.ARN]; tags["ingress.k8s.aws/stack"] == group {
			text := tags["ingress.k8s.aws/resource"] + " " + g.TargetType
			if g.ControlPort != 0 {
				text += fmt.Sprint(" ", g.ControlPort)
			}
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out, errors.Join(err, groupsErr)
}

func awaitTargetGroups(t *testing.T, group string, want ...string) {
	t.Helper()
	suite.Eventually(t, "target groups of "+group, func() error {
		got, err := targetGroups(group)
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("there are %q, want %q", got, want)
		}
		return err
	})
}

// What cannot be changed of a target group has it replaced: the new one has healthy targets before requests go there.
func TestTargetGroupIsReplacedUnderLoad(t *testing.T) {
	t.Parallel()
	app := newApp("replaced")
	app.Service = func(s *corev1.Service) {
		s.Spec.Type = corev1.ServiceTypeNodePort
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "other", Port: 81, TargetPort: s.Spec.Ports[0].TargetPort})
	}
	ingress, balancer, host := serve(t, app, "target-type=ip")
	stop := underLoad(t, app, balancer, host, "/")
	awaitTargetGroups(t, "replaced/replaced", "replaced/replaced-replaced:80 ip")
	change(t, ingress, func(i *networkingv1.Ingress) { i.Annotations[prefix+"target-type"] = "instance" })
	awaitTargetGroups(t, "replaced/replaced", "replaced/replaced-replaced:80 instance")
	change(t, ingress, func(i *networkingv1.Ingress) { i.Annotations[prefix+"target-type"] = "ip" })
	awaitTargetGroups(t, "replaced/replaced", "replaced/replaced-replaced:80 ip")
	annotate(t, ingress, "target-control-port.replaced.80=3000")
	awaitTargetGroups(t, "replaced/replaced", "replaced/replaced-replaced:80 ip 3000")
	change(t, ingress, func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Backend = backend("replaced", 81) })
	awaitTargetGroups(t, "replaced/replaced", "replaced/replaced-replaced:81 ip")
	stop()
}

// Rules are edited while others are in force some time longer: no request finds none, or another's.
func TestRulesAreEditedUnderLoad(t *testing.T) {
	t.Parallel()
	app, other := newApp("edited"), newApp("edited-other")
	other.Namespace, other.Replicas = app.Name, 1
	ingress, balancer, host := serve(t, app, "target-type=ip")
	suite.Must(t, bed.Bed.Deploy(t.Context(), other))
	keep := func(paths ...string) func(*networkingv1.Ingress) {
		return func(i *networkingv1.Ingress) {
			i.Spec.Rules = []networkingv1.IngressRule{rule(host, paths...)}
			for j := range paths { // so that their order counts
				i.Spec.Rules[0].HTTP.Paths[j].PathType = ptr.To(networkingv1.PathTypeImplementationSpecific)
			}
		}
	}
	const kept, last = "/keep edited", "/* edited-other"
	change(t, ingress, keep(kept, last))
	suite.Eventually(t, "two rules", func() error {
		return errors.Join(answeredBy(t, app, balancer, host, "/keep"), answeredBy(t, other, balancer, host, "/"))
	})
	stop := underLoad(t, app, balancer, host, "/keep")
	for i, paths := range [][]string{
		{"/a edited-other", "/b edited-other", kept, last}, // inserted before it
		{"/b edited-other", kept, "/c edited-other", last}, // one deleted before it, one inserted behind it
		{kept, "/b edited-other", "/c edited-other", last}, // moved up
		{"/b edited-other", "/c edited-other", kept, last}, // and down
		{kept, last},
	} {
		change(t, ingress, keep(paths...))
		suite.Eventually(t, fmt.Sprintf("edit %d to be in force", i), func() error { return wantRules("edited/edited", paths) })
	}
	stop()
}

// wantRules is an error unless the load balancer's rules have these paths, in this order: "path Service".
func wantRules(group string, paths []string) error {
	all, err := tagged()
	if err != nil {
		return err
	}
	var got, want []string
	for arn, tags := range all {
		if tags["ingress.k8s.aws/stack"] != group || tags["ingress.k8s.aws/resource"] != "LoadBalancer" {
			continue
		}
		listeners, err := bed.AWS.ELB.Listeners(arn)
		if err != nil {
			return err
		}
		rules, err := bed.AWS.ELB.Rules(listeners[0].ARN)
		if err != nil {
			return err
		}
		for _, r := range rules {
			for _, c := range r.Conditions {
				if len(c.Values) > 0 && strings.HasPrefix(c.Values[0], "/") {
					got = append(got, c.Values[0])
				}
			}
		}
	}
	for _, text := range paths {
		path, _, _ := strings.Cut(text, " ")
		want = append(want, path)
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("the rules have the paths %q, want %q", got, want)
	}
	return nil
}

// follow has the host be an alias of what the Ingress's status says, as ExternalDNS does, until the test ends.
func follow(t *testing.T, ingress *networkingv1.Ingress, host string, resolver *names.Names) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	key, current := client.ObjectKeyFromObject(ingress), &networkingv1.Ingress{}
	update := func() {
		if err := bed.Client.Get(ctx, key, current); err == nil && len(current.Status.LoadBalancer.Ingress) > 0 {
			resolver.Alias(host, current.Status.LoadBalancer.Ingress[0].Hostname)
		}
	}
	update()
	go func() {
		for ctx.Err() == nil {
			time.Sleep(time.Second)
			update()
		}
	}()
}

// A load balancer cannot change its scheme: the new one serves before the status leads there, and the old one some time longer.
func TestLoadBalancerIsReplacedUnderLoad(t *testing.T) {
	t.Parallel()
	app := newApp("scheme")
	ingress, before, host := serve(t, app, "target-type=ip")
	resolver := names.New(bed.AWS.Resolve)
	follow(t, ingress, host, resolver)
	stop := underLoadBy(t, app, resolver, host, "/")
	change(t, ingress, func(i *networkingv1.Ingress) { i.Annotations[prefix+"scheme"] = "internet-facing" })
	var after string
	suite.Eventually(t, "another load balancer in the status", func() error {
		if after = awaitHost(t, ingress); after == before {
			return errors.New("it is the old one")
		}
		return nil
	})
	suite.Eventually(t, "the old one to be gone", func() error {
		if _, ok := bed.AWS.ELB.BalancerNamed(before); ok {
			return errors.New("it is there")
		}
		return nil
	})
	stop()
	if !strings.HasPrefix(after, "k8s-scheme-scheme-") {
		t.Errorf("the load balancer's name is %s, want that of one with public addresses", after)
	}
}

// A member that moves to another group is served by the old one until clients have followed.
func TestMemberMovesToAnotherGroupUnderLoad(t *testing.T) {
	t.Parallel()
	app := newApp("moves")
	ingress, before, host := serve(t, app, "target-type=ip")
	resolver := names.New(bed.AWS.Resolve)
	follow(t, ingress, host, resolver)
	stop := underLoadBy(t, app, resolver, host, "/")
	change(t, ingress, func(i *networkingv1.Ingress) { i.Annotations[prefix+"group.name"] = "moved" })
	suite.Eventually(t, "the old load balancer to be gone", func() error {
		if _, ok := bed.AWS.ELB.BalancerNamed(before); ok {
			return errors.New("it is there")
		}
		return nil
	})
	stop()
	if after := awaitHost(t, ingress); after == before {
		t.Errorf("the status has %s, want that of the new group", after)
	}
	suite.Eventually(t, "the finalizer of the old group to be gone", func() error {
		suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(ingress), ingress))
		if want := []string{"group.ingress.k8s.aws/moved"}; !slices.Equal(ingress.Finalizers, want) {
			return fmt.Errorf("finalizers %q, want %q", ingress.Finalizers, want)
		}
		return nil
	})
}

// A new rule that comes before others takes their requests once its pods are healthy.
func TestANewRuleBeforeOthersWaitsForHealthyTargets(t *testing.T) {
	t.Parallel()
	app, other := newApp("before"), newApp("before-other")
	other.Namespace, other.Replicas = app.Name, 1
	members, balancer := serveGroup(t, app, 2)
	suite.Must(t, bed.Bed.Deploy(t.Context(), other))
	var stops []func()
	for _, m := range members {
		stops = append(stops, underLoad(t, app, balancer, m.Name+".example.com", "/")) // pods of both apps may answer
	}
	first := member(app, "first", app.Name, "group.order=-1")
	first.Spec.Rules = []networkingv1.IngressRule{rule("*.example.com", "/ "+other.Name)}
	create(t, first)
	suite.Eventually(t, "the new rule to take over", func() error {
		return errors.Join(allAnswer(t, other, balancer, members), answeredBy(t, other, balancer, "new.example.com", "/"))
	})
	for _, stop := range stops {
		stop()
	}
}

// A target group that never gets healthy does not take over, and holds up no other member's.
func TestATakeOverThatCannotComeHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	app := newApp("stuck")
	app.Service = func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }
	members, balancer := serveGroup(t, app, 2)
	bad, good := members[0], members[1]
	stopBad := underLoad(t, app, balancer, bad.Name+".example.com", "/")
	stopGood := underLoad(t, app, balancer, good.Name+".example.com", "/")
	change(t, bad, func(i *networkingv1.Ingress) {
		i.Annotations[prefix+"target-type"], i.Annotations[prefix+"success-codes"] = "instance", "418"
	})
	part := func(m *networkingv1.Ingress) string { return "stuck/" + m.Name + "-stuck:80" }
	awaitTargetGroups(t, "stuck", part(bad)+" instance", part(bad)+" ip", part(good)+" ip")
	change(t, good, func(i *networkingv1.Ingress) { i.Annotations[prefix+"target-type"] = "instance" })
	awaitTargetGroups(t, "stuck", part(bad)+" instance", part(bad)+" ip", part(good)+" instance")
	change(t, bad, func(i *networkingv1.Ingress) { delete(i.Annotations, prefix+"success-codes") })
	awaitTargetGroups(t, "stuck", part(bad)+" instance", part(good)+" instance")
	stopGood()
	stopBad()
}
