// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator"
	"github.com/targetgate/targetgate/e2e/emulator/routing"
	"github.com/targetgate/targetgate/e2e/load"
	"github.com/targetgate/targetgate/e2e/names"
	"github.com/targetgate/targetgate/e2e/run"
	"github.com/targetgate/targetgate/e2e/testbed"
)

const (
	shopHost      = "shop.example.com"
	shopReplicas  = 2
	shopRate      = 60.0 // requests a second to each path
	ingressWithin = 3 * time.Minute
)

// shop is an Ingress with a host and two paths, each of another app.
type shop struct {
	*scenario
	page, api *testbed.App
	ingress   *networkingv1.Ingress
	names     *names.Names
}

// thirdAct is what came of requests to the two paths while the Ingress was changed. Replaced is when the new target group had taken over,
// Inserted when the new rule was in its place, since the change in question.
type thirdAct struct {
	LoadBalancer       string // its name in DNS
	Page, API          load.Result
	Replaced, Inserted time.Duration
}

// deployShop asks for all, and waits for nothing: the load balancer takes its time.
func (s *scenario) deployShop(ctx context.Context) (*shop, error) {
	out := &shop{scenario: s, page: s.shopApp("shop"), api: s.shopApp("api"), names: names.New(s.bed.AWS.Resolve)}
	for _, app := range []*testbed.App{out.page, out.api} {
		if err := s.bed.Deploy(ctx, app); err != nil {
			return nil, err
		}
	}
	out.ingress = &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop", Annotations: map[string]string{
			"alb.ingress.kubernetes.io/target-type":                  "ip",
			"alb.ingress.kubernetes.io/healthcheck-path":             "/healthz",
			"alb.ingress.kubernetes.io/healthcheck-interval-seconds": fmt.Sprint(checkInterval),
		}},
		Spec: networkingv1.IngressSpec{IngressClassName: ptr.To("alb"), Rules: rulesOf(80, "/api", "/")},
	}
	if err := s.bed.Client.Create(ctx, out.ingress); err != nil {
		return nil, fmt.Errorf("creating the Ingress: %w", err)
	}
	return out, nil
}

func (s *scenario) shopApp(name string) *testbed.App {
	app := s.app(name)
	app.Namespace, app.Unbound, app.Replicas, app.Gated = "shop", true, shopReplicas, true
	app.Service = func(s *corev1.Service) {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "other", Port: 81, TargetPort: s.Spec.Ports[0].TargetPort})
	}
	return app
}

// rulesOf leads / to that port of the shop, and all other paths to the api.
func rulesOf(port int32, paths ...string) []networkingv1.IngressRule {
	value := &networkingv1.HTTPIngressRuleValue{}
	for _, path := range paths {
		backend := networkingv1.IngressServiceBackend{Name: "api", Port: networkingv1.ServiceBackendPort{Number: 80}}
		if path == "/" {
			backend = networkingv1.IngressServiceBackend{Name: "shop", Port: networkingv1.ServiceBackendPort{Number: port}}
		}
		value.Paths = append(value.Paths, networkingv1.HTTPIngressPath{
			Path: path + "*", PathType: ptr.To(networkingv1.PathTypeImplementationSpecific),
			Backend: networkingv1.IngressBackend{Service: &backend},
		})
	}
	return []networkingv1.IngressRule{{Host: shopHost, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: value}}}
}

// act changes the Ingress under load: first what replaces a target group, then what inserts a rule in the middle.
func (s *shop) act(ctx context.Context) (a thirdAct, err error) {
	if a.LoadBalancer, err = s.awaitAnswers(ctx); err != nil {
		return a, err
	}
	for app, result := range map[*testbed.App]*load.Result{s.page: &a.Page, s.api: &a.API} {
		path := map[*testbed.App]string{s.page: "/", s.api: "/api"}[app]
		l, err := load.Start(ctx, load.Options{
			URL: "http://" + shopHost + path, Rate: shopRate, Dial: s.names.DialContext,
			Answered: func(h http.Header) bool { return strings.HasPrefix(h.Get("X-Pod"), app.Name+"-") },
		})
		if err != nil {
			return a, fmt.Errorf("starting the load on %s: %w", path, err)
		}
		defer func() { *result = l.Stop() }()
	}
	if err := run.Pause(ctx, settle); err != nil {
		return a, err
	}
	if a.Replaced, err = s.change(ctx, rulesOf(81, "/api", "/"), []string{"/api*", "/*"}, ":81"); err != nil {
		return a, err
	}
	if a.Inserted, err = s.change(ctx, rulesOf(81, "/api", "/static", "/"), []string{"/api*", "/static*", "/*"}, ":81"); err != nil {
		return a, err
	}
	return a, run.Pause(ctx, s.scaled(trafficAfter))
}

// awaitAnswers waits until both paths are answered by their apps. It returns the load balancer's name.
func (s *shop) awaitAnswers(ctx context.Context) (host string, err error) {
	key := client.ObjectKeyFromObject(s.ingress)
	err = s.progress.Await(ctx, s.bed, ingressWithin, func() (bool, string) {
		if err := s.bed.Client.Get(ctx, key, s.ingress); err != nil {
			return false, err.Error()
		}
		entries := s.ingress.Status.LoadBalancer.Ingress
		if len(entries) == 0 {
			return false, "the Ingress has no load balancer yet"
		}
		host = entries[0].Hostname
		s.names.Alias(shopHost, host)
		for path, app := range map[string]*testbed.App{"/": s.page, "/api": s.api} {
			if pod := s.ask(ctx, path); !strings.HasPrefix(pod, app.Name+"-") {
				return false, "the load balancer of the Ingress does not answer yet at " + path
			}
		}
		return true, ""
	})
	return host, err
}

// ask is the name of the pod that answers, "" for none.
func (s *shop) ask(ctx context.Context, path string) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+shopHost+path, http.NoBody)
	if err != nil {
		return ""
	}
	transport := s.names.Transport(nil)
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	return response.Header.Get("X-Pod")
}

// change changes the rules of the Ingress, and waits until the load balancer has them: these paths in this order, the last of which goes
// to one target group, whose resource tag ends so.
func (s *shop) change(ctx context.Context, rules []networkingv1.IngressRule, paths []string, group string) (took time.Duration, err error) {
	changed := s.ingress.DeepCopy()
	changed.Spec.Rules = rules
	begun := time.Now()
	if err := s.bed.Client.Patch(ctx, changed, client.MergeFrom(s.ingress)); err != nil {
		return 0, fmt.Errorf("changing the Ingress: %w", err)
	}
	s.ingress = changed
	err = s.progress.Await(ctx, s.bed, ingressWithin, func() (bool, string) {
		got, last, err := s.rules()
		switch {
		case err != nil:
			return false, err.Error()
		case strings.Join(got, " ") != strings.Join(paths, " ") || !strings.HasSuffix(last, group):
			return false, fmt.Sprintf("the load balancer's rules are %q, the last one goes to %s", got, last)
		}
		return true, ""
	})
	return time.Since(begun), err
}

// rules are the paths of the load balancer's rules, and the resource tag of the target group of the last one, if it is one.
func (s *shop) rules() (paths []string, last string, err error) {
	aws := s.bed.AWS
	balancer, ok := aws.ELB.BalancerNamed(s.ingress.Status.LoadBalancer.Ingress[0].Hostname)
	if !ok {
		return nil, "", errors.New("the load balancer is gone")
	}
	listeners, err := aws.ELB.Listeners(balancer.ARN)
	if err != nil {
		return nil, "", err
	}
	rules, err := aws.ELB.Rules(listeners[0].ARN)
	if err != nil {
		return nil, "", err
	}
	for _, rule := range rules {
		for _, c := range rule.Conditions {
			if c.Field == "path-pattern" {
				paths = append(paths, c.Values...)
				last = resourceOf(aws, rule.Action)
			}
		}
	}
	return paths, last, nil
}

// resourceOf is the resource tag of the only target group that an action sends to, "" if it is not one.
func resourceOf(aws *emulator.Emulator, action routing.Action) string {
	if action.Forward == nil || len(action.Forward.Groups) != 1 {
		return ""
	}
	tags, err := aws.ELB.Tags(action.Forward.Groups[0].Group)
	if err != nil {
		return ""
	}
	return tags["ingress.k8s.aws/resource"]
}

func (a thirdAct) verdict() error {
	for path, result := range map[string]load.Result{"/": a.Page, "/api": a.API} {
		if result.Requests == 0 {
			return errors.New("no request was sent: the run proves nothing")
		}
		if result.Failed > 0 {
			return fmt.Errorf("%d of %d requests to %s failed (%s); none must", result.Failed, result.Requests, path, statuses(result))
		}
	}
	return nil
}
