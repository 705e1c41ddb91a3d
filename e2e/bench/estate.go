// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/routing"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// estate is the Ingresses of a scenario, all in one namespace. Their Services all have the pods of one app.
type estate struct {
	*stage
	app *testbed.App
}

const (
	ingressTimeout = 30 * time.Minute
	annotation     = "alb.ingress.kubernetes.io/"
	stackTag       = "ingress.k8s.aws/stack"
	resourceTag    = "ingress.k8s.aws/resource"
)

// provisioning changes the options of a bed to what the incumbent was measured with: a load balancer is active after 60 s, its interfaces
// are released 15 s after its deletion. There may be 1,000 load balancers.
func (s *scenario) provisioning(o *testbed.Options) {
	o.SecurityGroups, o.Provisioning = true, true
	quotas, delays := state.DefaultQuotas(), state.DefaultDelays()
	quotas.Balancers = 1200
	delays.Provisioning = region.Range{Min: time.Minute, Max: time.Minute}
	delays.Linger = region.Range{Min: 15 * time.Second, Max: 15 * time.Second}
	o.Quotas, o.Delays = &quotas, &delays
	if s.Changes != (wire.Limit{}) {
		limits := wire.DefaultLimits()
		limits.Modify, limits.Other = s.Changes, s.Changes
		o.Limits = &limits
		return
	}
	o.Limits, o.Args = &wire.Limits{}, append(o.Args, unlimited+","+strings.ReplaceAll(strings.TrimPrefix(unlimited, "--aws-api-throttle="),
		"Elastic Load Balancing v2", "EC2"))
}

// Limits of calls that change something: what the incumbent was measured with, and what AWS publishes for changes of settings.
var (
	measuredChanges  = wire.Limit{Capacity: 20, Refill: 4}
	publishedChanges = wire.DefaultLimits().Modify
)

// provision deploys the pods, and has the scenario measured.
func (s *stage) provision(ctx context.Context) error {
	e, err := s.newEstate(ctx, "estate")
	if err != nil {
		return err
	}
	if err := s.awaitPods(ctx, oldVersion, deployTimeout); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	return s.Ingresses(ctx, e)
}

// newEstate deploys pods in a new namespace.
func (s *stage) newEstate(ctx context.Context, namespace string) (*estate, error) {
	app := &testbed.App{Name: "pods", Namespace: namespace, Replicas: int32(s.Replicas), Unbound: true}
	return &estate{stage: s, app: app}, s.bed.Deploy(ctx, app)
}

// serve makes an Ingress of that name for the host NAME.example.com, with so many paths and a Service for each, and does not create it.
func (e *estate) serve(ctx context.Context, name string, paths int, annotations ...string) (*networkingv1.Ingress, error) {
	out := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.app.Namespace, Name: name, Annotations: map[string]string{annotation + "target-type": "ip"}},
		Spec:       networkingv1.IngressSpec{IngressClassName: ptr.To("alb")},
	}
	for _, text := range annotations {
		key, value, _ := strings.Cut(text, "=")
		out.Annotations[annotation+key] = value
	}
	list := make([]networkingv1.HTTPIngressPath, paths)
	for i := range list {
		service := fmt.Sprintf("%s-%d", name, i)
		if err := e.createService(ctx, service); err != nil {
			return nil, err
		}
		list[i] = networkingv1.HTTPIngressPath{
			Path: fmt.Sprintf("/path-%d", i), PathType: ptr.To(networkingv1.PathTypeExact), Backend: backendOf(service),
		}
	}
	out.Spec.Rules = []networkingv1.IngressRule{{
		Host: name + ".example.com", IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: list}},
	}}
	return out, nil
}

func backendOf(service string) networkingv1.IngressBackend {
	return networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
		Name: service, Port: networkingv1.ServiceBackendPort{Number: 80},
	}}
}

func (e *estate) createService(ctx context.Context, name string) error {
	var template corev1.Service
	if err := e.bed.Client.Get(ctx, e.app.Key(), &template); err != nil {
		return err
	}
	err := e.bed.Client.Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.app.Namespace, Name: name},
		Spec:       corev1.ServiceSpec{Selector: template.Spec.Selector, Ports: template.Spec.Ports},
	})
	if err != nil {
		return fmt.Errorf("creating Service %s: %w", name, err)
	}
	return nil
}

// change edits an Ingress.
func (e *estate) change(ctx context.Context, ingress *networkingv1.Ingress, edit func(*networkingv1.Ingress)) error {
	changed := ingress.DeepCopy()
	edit(changed)
	return e.bed.Client.Patch(ctx, changed, client.MergeFrom(ingress))
}

// hostNames are the load balancers in the statuses of all Ingresses.
func (e *estate) hostNames(ctx context.Context) (map[string]string, error) {
	var list networkingv1.IngressList
	if err := e.bed.Client.List(ctx, &list, client.InNamespace(e.app.Namespace)); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, i := range list.Items {
		if entries := i.Status.LoadBalancer.Ingress; len(entries) > 0 {
			out[i.Name] = entries[0].Hostname
		}
	}
	return out, nil
}

// routes tell of each "load balancer host path" the resource tag of the target group to which it leads, if all pods are registered there.
func (e *estate) routes() map[string]string {
	out, aws := map[string]string{}, e.bed.AWS
	balancers, _ := aws.ELB.Balancers("", nil, nil)
	for _, b := range balancers {
		listeners, _ := aws.ELB.Listeners(b.ARN)
		for _, l := range listeners {
			rules, _ := aws.ELB.Rules(l.ARN) // what is gone meanwhile has none
			for _, rule := range rules {
				if resource := e.leadsTo(rule.Action); resource != "" {
					out[strings.ToLower(b.DNSName)+" "+valueOf(rule, "host-header")+" "+valueOf(rule, "path-pattern")] = resource
				}
			}
		}
	}
	return out
}

func valueOf(rule state.ListenerRule, field string) string {
	for _, c := range rule.Conditions {
		if c.Field == field && len(c.Values) > 0 {
			return c.Values[0]
		}
	}
	return ""
}

func (e *estate) leadsTo(action routing.Action) string {
	if action.Forward == nil || len(action.Forward.Groups) != 1 {
		return ""
	}
	group := action.Forward.Groups[0].Group
	tags, err := e.bed.AWS.ELB.Tags(group)
	health, healthErr := e.bed.AWS.ELB.Describe(group, nil)
	if errors.Join(err, healthErr) != nil || len(health) != e.Replicas {
		return ""
	}
	return tags[resourceTag]
}

// isRight reports whether host and paths of an Ingress lead to its Services, at the load balancer.
func isRight(ingress *networkingv1.Ingress, balancer string, routes map[string]string) bool {
	for _, rule := range ingress.Spec.Rules {
		for _, path := range rule.HTTP.Paths {
			want := fmt.Sprintf("%s/%s-%s:80", ingress.Namespace, ingress.Name, path.Backend.Service.Name)
			if routes[strings.ToLower(balancer)+" "+rule.Host+" "+path.Path] != want {
				return false
			}
		}
	}
	return balancer != ""
}

// times are when each Ingress had its load balancer's name in the status, and when it was right, since the beginning.
type times struct{ named, right []time.Duration }

// awaitRight waits for all of the Ingresses, each created at its time.
func (e *estate) awaitRight(ctx context.Context, created map[*networkingv1.Ingress]time.Time) (out times, err error) {
	named, right := map[string]bool{}, map[string]bool{}
	err = e.await(ctx, ingressTimeout, func() (bool, string) {
		hosts, err := e.hostNames(ctx)
		if err != nil {
			return false, err.Error()
		}
		routes := e.routes()
		for ingress, at := range created {
			name := ingress.Name
			if hosts[name] != "" && !named[name] {
				named[name], out.named = true, append(out.named, time.Since(at))
			}
			if !right[name] && isRight(ingress, hosts[name], routes) {
				right[name], out.right = true, append(out.right, time.Since(at))
			}
		}
		state := fmt.Sprintf("%d of %d Ingresses have a load balancer, %d are right", len(named), len(created), len(right))
		return len(right) == len(created), state
	})
	return out, err
}

// awaitGone waits until no load balancer of these stacks is left, and then until nothing is. It is empty for all stacks.
func (e *estate) awaitGone(ctx context.Context, since time.Time) (balancers, all time.Duration, err error) {
	err = e.await(ctx, ingressTimeout, func() (bool, string) {
		left, total := e.left()
		if left == 0 && balancers == 0 {
			balancers = time.Since(since)
		}
		return total == 0, fmt.Sprintf("%d load balancers are left, %d parts in all", left, total)
	})
	return balancers, time.Since(since), err
}

// left counts what stacks have in AWS.
func (e *estate) left() (balancers, all int) {
	aws := e.bed.AWS
	isOurs := func(tags map[string]string) bool { return tags[stackTag] != "" }
	list, _ := aws.ELB.Balancers("", nil, nil)
	for _, b := range list {
		if tags, err := aws.ELB.Tags(b.ARN); err == nil && isOurs(tags) {
			balancers++
		}
	}
	groups, _ := aws.ELB.Groups(state.GroupFilter{})
	for _, g := range groups {
		if tags, err := aws.ELB.Tags(g.ARN); err == nil && isOurs(tags) {
			all++
		}
	}
	security, _ := aws.EC2.DescribeSecurityGroups("")
	for _, g := range security {
		if isOurs(g.Tags) {
			all++
		}
	}
	return balancers, all + balancers
}
