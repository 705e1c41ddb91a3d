//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/load"
	"github.com/targetgate/targetgate/e2e/names"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

var bed = &suite.Bed{}

// settle is for how long a load balancer that was replaced serves on.
const settle = 5 * time.Second

// atOnce is how many tests run side by side: each waits most of the time, until load balancers are active.
const atOnce = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	bed.Finally = everyPermissionIsUsed
	bed.Main(m, testbed.Options{Scale: suite.Scale, SecurityGroups: true, Provisioning: true,
		Args: []string{"--load-balancer-settle-time=" + settle.String()}})
}

const prefix = "alb.ingress.kubernetes.io/"

// newApp is an app without load balancer and binding.
func newApp(name string) *testbed.App {
	app := suite.NewApp(name)
	app.Unbound = true
	return app
}

// newIngress is one of the class alb in the namespace of its name, with annotations name=value without their prefix.
func newIngress(name string, rules []networkingv1.IngressRule, annotations ...string) *networkingv1.Ingress {
	out := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: name, Annotations: map[string]string{}},
		Spec:       networkingv1.IngressSpec{IngressClassName: ptr.To("alb"), Rules: rules},
	}
	for _, text := range annotations {
		key, value, _ := strings.Cut(text, "=")
		out.Annotations[prefix+key] = value
	}
	return out
}

// rule is one for the host: each path is "path Service".
func rule(host string, paths ...string) networkingv1.IngressRule {
	http := &networkingv1.HTTPIngressRuleValue{}
	for _, text := range paths {
		path, service, _ := strings.Cut(text, " ")
		http.Paths = append(http.Paths, networkingv1.HTTPIngressPath{
			Path: path, PathType: ptr.To(networkingv1.PathTypePrefix), Backend: backend(service, 80),
		})
	}
	return networkingv1.IngressRule{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: http}}
}

func backend(service string, port int32) networkingv1.IngressBackend {
	return networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
		Name: service, Port: networkingv1.ServiceBackendPort{Number: port},
	}}
}

// create creates the Ingress, and has it deleted before its namespace at the end of the test.
func create(t *testing.T, ingress *networkingv1.Ingress) {
	t.Helper()
	suite.Must(t, bed.Client.Create(t.Context(), ingress))
	t.Cleanup(func() {
		err := client.IgnoreNotFound(bed.Client.Delete(context.Background(), ingress.DeepCopy()))
		if err != nil {
			t.Errorf("deleting Ingress %s: %v", ingress.Name, err)
		}
	})
}

// awaitHost is the load balancer's name in the status of the Ingress.
func awaitHost(t *testing.T, ingress *networkingv1.Ingress) (host string) {
	t.Helper()
	suite.Eventually(t, "the load balancer's name in the status of Ingress "+ingress.Name, func() error {
		suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(ingress), ingress))
		if entries := ingress.Status.LoadBalancer.Ingress; len(entries) == 1 {
			host = entries[0].Hostname
		}
		if host == "" {
			return fmt.Errorf("the status is %+v", ingress.Status)
		}
		return nil
	})
	return host
}

// resolver has users' host names be aliases of load balancers.
func resolver(host, balancer string) *names.Names {
	resolver := names.New(bed.AWS.Resolve)
	if host != balancer {
		resolver.Alias(host, balancer)
	}
	return resolver
}

// ask sends one request to the path of the host, which is an alias of the load balancer's name.
func ask(t *testing.T, balancer, host, path string) (status int, pod string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+path, http.NoBody)
	suite.Must(t, err)
	transport := resolver(host, balancer).Transport(nil)
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	return response.StatusCode, response.Header.Get("X-Pod"), nil
}

// answeredBy is an error unless the path of the host is answered by a pod of the app.
func answeredBy(t *testing.T, app *testbed.App, balancer, host, path string) error {
	t.Helper()
	status, pod, err := ask(t, balancer, host, path)
	if err == nil && (status != http.StatusOK || !strings.HasPrefix(pod, app.Name+"-")) {
		err = fmt.Errorf("%s%s is answered by %q with %d, want pods of %s", host, path, pod, status, app.Name)
	}
	return err
}

// underLoad sends requests to the path of the host all the time; one that is not answered by a pod of the app fails the test at stop.
func underLoad(t *testing.T, app *testbed.App, balancer, host, path string) (stop func()) {
	t.Helper()
	return underLoadBy(t, app, resolver(host, balancer), host, path)
}

// underLoadBy is underLoad for names that others keep.
func underLoadBy(t *testing.T, app *testbed.App, resolver *names.Names, host, path string) (stop func()) {
	t.Helper()
	l, err := load.Start(t.Context(), load.Options{
		URL: "http://" + host + path, Rate: 50, Dial: resolver.DialContext,
		Answered: func(header http.Header) bool { return strings.HasPrefix(header.Get("X-Pod"), app.Name+"-") },
	})
	suite.Must(t, err)
	since, sinceRequests := callsSoFar(), len(bed.AWS.Requests(0))
	return func() {
		t.Helper()
		result := l.Stop()
		if result.Failed == 0 && result.Requests > 0 {
			return
		}
		t.Errorf("%d of %d requests to %s%s failed: %v", result.Failed, result.Requests, host, path, result.ByStatus)
		for _, failure := range result.Failures[:min(3, len(result.Failures))] {
			t.Errorf("one of them at %s: %s", failure.Sent.UTC().Format(milliseconds), failure.Status)
		}
		for _, request := range bed.AWS.Requests(sinceRequests) {
			if request.Status != http.StatusOK {
				t.Errorf("%s %s: %d by rule %s from %s: %s", request.Start.UTC().Format(milliseconds), request.Group, request.Status, request.Rule,
					request.Target, request.Err)
			}
		}
		for _, call := range bed.AWS.Calls(since) {
			if call.Principal == bed.AccessKey() && !isRead(call) {
				t.Errorf("%s %s %s%v: %d", call.Received.UTC().Format(milliseconds), call.Operation, call.TargetGroup, call.Targets, call.Status)
			}
		}
	}
}

// change edits the Ingress.
func change(t *testing.T, ingress *networkingv1.Ingress, edit func(*networkingv1.Ingress)) {
	t.Helper()
	suite.Change(t, bed, ingress, edit)
}

const milliseconds = "15:04:05.000"

func isRead(call wire.Call) bool {
	return slices.ContainsFunc([]string{"Describe", "List", "Get"}, func(verb string) bool { return strings.HasPrefix(call.Operation, verb) })
}

// isWrite reports whether the call changes something in AWS other than targets.
func isWrite(call wire.Call) bool {
	return !isRead(call) && !strings.HasSuffix(call.Operation, "Targets")
}

// writesSince are targetgate's.
func writesSince(since int) (out []string) {
	for _, call := range bed.AWS.Calls(since) {
		if call.Principal == bed.AccessKey() && isWrite(call) {
			out = append(out, call.Operation)
		}
	}
	return out
}

func callsSoFar() int { return len(bed.AWS.Calls(0)) }

// awaitQuiet waits until AWS has not been called for some seconds.
func awaitQuiet(t *testing.T) {
	t.Helper()
	const enough = 4 * time.Second
	calls, since := callsSoFar(), time.Now()
	suite.Eventually(t, "no calls of AWS", func() error {
		if now := callsSoFar(); now != calls {
			calls, since = now, time.Now()
		}
		if time.Since(since) < enough {
			return fmt.Errorf("the last of %d calls came %s ago", calls, time.Since(since))
		}
		return nil
	})
}

// awaitDeleted waits until the Ingress is gone.
func awaitDeleted(t *testing.T, ingress *networkingv1.Ingress) {
	t.Helper()
	suite.Eventually(t, "Ingress "+ingress.Name+" to be gone", func() error {
		err := bed.Client.Get(t.Context(), client.ObjectKeyFromObject(ingress), &networkingv1.Ingress{})
		if err == nil {
			return errors.New("it is there, with finalizers " + strings.Join(ingress.Finalizers, ", "))
		}
		return client.IgnoreNotFound(err)
	})
}

// awaitGone waits until the Ingress is gone, and all that was made for its group.
func awaitGone(t *testing.T, ingress *networkingv1.Ingress, group string) {
	t.Helper()
	awaitDeleted(t, ingress)
	suite.Eventually(t, "all that was made for "+group+" to be gone", func() error {
		left, err := leftOf(group)
		if len(left) > 0 {
			err = fmt.Errorf("%s is left", strings.Join(left, ", "))
		}
		return err
	})
}

// leftOf are the ARNs and IDs of what has the stack tag of the group.
func leftOf(group string) (left []string, err error) {
	all, err := tagged()
	for id, tags := range all {
		if tags["ingress.k8s.aws/stack"] == group {
			left = append(left, id)
		}
	}
	slices.Sort(left)
	return left, err
}

// tagged are the tags of all load balancers, target groups and security groups.
func tagged() (map[string]map[string]string, error) { return suite.Tagged(bed.AWS) }
