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

	"golang.org/x/sync/errgroup"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Three namespaces ask for as much as fits into their Ingresses: rules, inbound rules and redirects, names to look up. They change them all
// the time. Meanwhile 20 bindings of others are rolled under load.
func TestHostileGroupsDelayNoRollout(t *testing.T) {
	const bindings = 20
	apps := make([]*testbed.App, bindings)
	var stops []func()
	for i := range apps {
		apps[i] = suite.NewApp(fmt.Sprintf("beside-hostile-%02d", i))
		apps[i].Replicas, apps[i].Change = 1, func(b *v1beta1.TargetGroupBinding) { b.Spec.Networking = openTo("0.0.0.0/0", 8080) }
		bed.Deploy(t, apps[i])
	}
	quiet := gates(t, apps)
	for _, app := range apps {
		stops = append(stops, bed.UnderLoadOf(t, app, 5))
	}
	ways := []func(namespace string) []*networkingv1.Ingress{manyRules, manySources, manyNames}
	for i, ingresses := range ways {
		attack(t, ingresses(bed.AttackersNamespace(t, fmt.Sprintf("hostile-%d", i))))
	}
	var rolls errgroup.Group
	rolls.SetLimit(5)
	for _, app := range apps {
		rolls.Go(func() error { return bed.Roll(t.Context(), app, "2", nil) })
	}
	suite.Must(t, rolls.Wait())
	attacked := gates(t, apps)
	for _, stop := range stops {
		stop()
	}
	t.Logf("after the load balancer said healthy pods were Ready in %s, the slowest in %s; under attack in %s, the slowest in %s; targetgate has "+
		"had %d MiB", median(quiet), slices.Max(quiet), median(attacked), slices.Max(attacked), bed.PeakMemory(t))
	noise, most := 500*time.Millisecond, 256
	if bed.DetectsRaces(t) { // 1.1 s and 247 MiB were seen with it
		noise, most = 5*time.Second, 384
	}
	if median(attacked) > median(quiet)*3/2+noise {
		t.Errorf("pods were Ready %s after the load balancer said healthy, and %s under attack", median(quiet), median(attacked))
	}
	if mib := bed.PeakMemory(t); mib > most {
		t.Errorf("targetgate has had %d MiB, want %d at most", mib, most)
	}
	suite.Eventually(t, "events that name the sums", func() error { return toldOfSums(t, len(ways)) })
}

// openTo lets the addresses reach a port of the pods.
func openTo(cidr string, port int32) *v1beta1.TargetGroupBindingNetworking {
	number := intstr.FromInt32(port)
	return &v1beta1.TargetGroupBindingNetworking{Ingress: []v1beta1.NetworkingIngressRule{{
		From:  []v1beta1.NetworkingPeer{{IPBlock: &v1beta1.IPBlock{CIDR: cidr}}},
		Ports: []v1beta1.NetworkingPort{{Port: &number}},
	}}}
}

func median(of []time.Duration) time.Duration { return slices.Sorted(slices.Values(of))[len(of)/2] }

// gates are how long after the load balancer said healthy pods were Ready, once all of the apps are rolled out.
func gates(t *testing.T, apps []*testbed.App) (out []time.Duration) {
	t.Helper()
	for _, app := range apps {
		bed.AwaitRolled(t, app)
		for _, pod := range bed.Pods(t, app) {
			healthy, err := bed.Turned(app, pod.Status.PodIP, "healthy")
			suite.Must(t, err)
			ready, err := bed.MomentOf(pod.UID, kubelet.Ready)
			suite.Must(t, err)
			out = append(out, ready.Sub(healthy))
		}
	}
	return out
}

// attack creates the Ingresses and changes one of them every 100 ms.
func attack(t *testing.T, ingresses []*networkingv1.Ingress) {
	t.Helper()
	for _, ingress := range ingresses {
		create(t, ingress)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	go func() {
		defer close(ended)
		for turn := 0; ctx.Err() == nil; turn++ {
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"turn":"%d"}}}`, turn)
			target := ingresses[turn%len(ingresses)].DeepCopy()
			err := bed.Client.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch))
			if err != nil && !errors.Is(err, context.Canceled) && ctx.Err() == nil {
				t.Errorf("turn %d of the attack: %v", turn, err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
}

// inGroup is one of the Ingresses of a group that has the namespace's name.
func inGroup(namespace string, i, paths int, backend networkingv1.IngressBackend) *networkingv1.Ingress {
	all := rule(fmt.Sprintf("%d.example.com", i))
	for j := range paths {
		all.HTTP.Paths = append(all.HTTP.Paths, networkingv1.HTTPIngressPath{
			Path: fmt.Sprintf("/*a*b*%d", j), PathType: new(networkingv1.PathTypeImplementationSpecific), Backend: backend,
		})
	}
	out := newIngress(namespace, []networkingv1.IngressRule{all}, "group.name="+namespace)
	out.Name = fmt.Sprintf("%s-%03d", namespace, i)
	return out
}

func listenOn(ports int) string {
	entries := make([]string, ports)
	for i := range entries {
		entries[i] = fmt.Sprintf(`{"HTTP":%d}`, 1000+i)
	}
	return "[" + strings.Join(entries, ",") + "]"
}

func annotated(port string) networkingv1.IngressBackend {
	return networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
		Name: port, Port: networkingv1.ServiceBackendPort{Name: "use-annotation"},
	}}
}

// manyRules are 40 Ingresses of 500 paths for 50 ports: a million rules.
func manyRules(namespace string) (all []*networkingv1.Ingress) {
	for i := range 40 {
		ingress := inGroup(namespace, i, 500, annotated("page"))
		ingress.Annotations[prefix+"actions.page"] = `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"200"}}`
		ingress.Annotations[prefix+"listen-ports"] = listenOn(50)
		all = append(all, ingress)
	}
	return all
}

// manySources are an Ingress of 10,000 CIDRs for 8 ports, and one of 500 redirects to themselves for as many.
func manySources(namespace string) []*networkingv1.Ingress {
	sources, redirects := inGroup(namespace, 0, 1, annotated("page")), inGroup(namespace, 1, 500, annotated("here"))
	var cidrs []string
	for i := range 10_000 {
		cidrs = append(cidrs, fmt.Sprintf("10.%d.%d.1/32", i>>8, i&255))
	}
	sources.Annotations[prefix+"inbound-cidrs"] = strings.Join(cidrs, ",")
	sources.Annotations[prefix+"actions.page"] = `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"200"}}`
	redirects.Annotations[prefix+"actions.here"] = `{"type":"redirect","redirectConfig":{"protocol":"HTTP","path":"/#{path}","statusCode":"HTTP_301"}}`
	for _, ingress := range []*networkingv1.Ingress{sources, redirects} {
		ingress.Annotations[prefix+"listen-ports"] = listenOn(8)
	}
	return []*networkingv1.Ingress{sources, redirects}
}

// manyNames are 40 Ingresses that name 40 target groups each, none of which there is.
func manyNames(namespace string) (all []*networkingv1.Ingress) {
	for i := range 40 {
		ingress := inGroup(namespace, i, 0, networkingv1.IngressBackend{})
		for j := range 8 {
			var groups []string
			for k := range 5 {
				groups = append(groups, fmt.Sprintf(`{"targetGroupName":"none-%d-%d-%d","weight":1}`, i, j, k))
			}
			name := fmt.Sprintf("act-%d", j)
			ingress.Annotations[prefix+"actions."+name] = `{"type":"forward","forwardConfig":{"targetGroups":[` + strings.Join(groups, ",") + `]}}`
			ingress.Spec.Rules[0].HTTP.Paths = append(ingress.Spec.Rules[0].HTTP.Paths, networkingv1.HTTPIngressPath{
				Path: fmt.Sprintf("/%d", j), PathType: new(networkingv1.PathTypeExact), Backend: annotated(name),
			})
		}
		all = append(all, ingress)
	}
	return all
}

// toldOfSums is an error until members of each hostile group are told which sum has no room.
func toldOfSums(t *testing.T, groups int) error {
	t.Helper()
	for i := range groups {
		var events eventsv1.EventList
		suite.Must(t, bed.Client.List(t.Context(), &events, client.InNamespace(fmt.Sprintf("hostile-%d", i))))
		isTold := func(e eventsv1.Event) bool { return strings.Contains(e.Note, "so the Ingress is not read") }
		if !slices.ContainsFunc(events.Items, isTold) {
			return fmt.Errorf("none of %d events in namespace hostile-%d does", len(events.Items), i)
		}
	}
	return nil
}
