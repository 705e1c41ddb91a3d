//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/load"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

var bed = &suite.Bed{}

const (
	// interval is ExternalDNS's, which is a minute by default.
	interval = 500 * time.Millisecond
	// settle is for how long a load balancer that was replaced serves on: ten times as long, as by default.
	settle = 10 * interval
)

func TestMain(m *testing.M) {
	delays := state.DefaultDelays()
	delays.Provisioning = region.Range{Min: 30 * time.Second, Max: time.Minute} // nothing here depends on how long that takes
	bed.Main(m, testbed.Options{
		Scale: suite.Scale, Delays: &delays, SecurityGroups: true, Provisioning: true,
		Args: []string{"--load-balancer-settle-time=" + settle.String(), "--feature-gates=EnableCertificateManagement=true"},
	})
}

const prefix = "alb.ingress.kubernetes.io/"

// deploy deploys an app without load balancer and binding.
func deploy(t *testing.T, name string) *testbed.App {
	t.Helper()
	app := suite.NewApp(name)
	app.Unbound, app.Replicas = true, 1
	bed.Deploy(t, app)
	return app
}

// newIngress is a member of a group, in the app's namespace, which leads all requests to the host of its name to the app. Annotations are
// name=value.
func newIngress(app *testbed.App, name, group string, annotations ...string) *networkingv1.Ingress {
	path := networkingv1.HTTPIngressPath{
		Path: "/", PathType: ptr.To(networkingv1.PathTypePrefix), Backend: networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: app.Name, Port: networkingv1.ServiceBackendPort{Number: 80}},
		},
	}
	out := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: app.Name, Name: name, Annotations: map[string]string{
			prefix + "group.name": group, prefix + "target-type": "ip",
		}},
		Spec: networkingv1.IngressSpec{IngressClassName: ptr.To("alb"), Rules: []networkingv1.IngressRule{{
			Host: hostOf(name), IngressRuleValue: networkingv1.IngressRuleValue{
				HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{path}},
			},
		}}},
	}
	for _, text := range annotations {
		key, value, _ := strings.Cut(text, "=")
		out.Annotations[key] = value
	}
	return out
}

func hostOf(name string) string { return name + "." + domain }

// create creates the Ingress, and has it deleted before its namespace at the end of the test.
func create(t *testing.T, ingress *networkingv1.Ingress) {
	t.Helper()
	createBy(t, bed.Client, ingress)
}

// createBy is create by another client.
func createBy(t *testing.T, c client.Client, ingress *networkingv1.Ingress) {
	t.Helper()
	suite.Must(t, c.Create(t.Context(), ingress))
	t.Cleanup(func() {
		err := client.IgnoreNotFound(bed.Client.Delete(context.Background(), ingress.DeepCopy()))
		if err != nil {
			t.Errorf("deleting Ingress %s: %v", ingress.Name, err)
		}
	})
}

func annotate(t *testing.T, ingress *networkingv1.Ingress, name, value string) {
	t.Helper()
	suite.Change(t, bed, ingress, func(i *networkingv1.Ingress) { i.Annotations[prefix+name] = value })
}

// awaitBalancer is the load balancer's name in the status of the Ingress, once there is one other than before.
func awaitBalancer(t *testing.T, ingress *networkingv1.Ingress, before string) (name string) {
	t.Helper()
	suite.Eventually(t, "a load balancer in the status of Ingress "+ingress.Name, func() error {
		suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(ingress), ingress))
		if entries := ingress.Status.LoadBalancer.Ingress; len(entries) == 1 {
			name = entries[0].Hostname
		}
		if name == before {
			return fmt.Errorf("the status is %+v", ingress.Status)
		}
		return nil
	})
	return name
}

// remove deletes the Ingress, and returns when it is gone.
func remove(t *testing.T, ingress *networkingv1.Ingress) {
	t.Helper()
	suite.Must(t, bed.Client.Delete(t.Context(), ingress.DeepCopy()))
	suite.Eventually(t, "Ingress "+ingress.Name+" to be gone", func() error {
		err := bed.Client.Get(t.Context(), client.ObjectKeyFromObject(ingress), &networkingv1.Ingress{})
		if err == nil {
			return errors.New("it is there")
		}
		return client.IgnoreNotFound(err)
	})
}

// answers is an error unless the app answers at the host, or host:port, by the load balancer that its record names now.
func answers(t *testing.T, dns *externalDNS, app *testbed.App, host string) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/", http.NoBody)
	suite.Must(t, err)
	transport := dns.resolver().Transport(nil)
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || !isOf(app, response.Header) {
		return fmt.Errorf("%s is answered with %s", host, response.Status)
	}
	return nil
}

func isOf(app *testbed.App, header http.Header) bool {
	return strings.HasPrefix(header.Get("X-Pod"), app.Name+"-")
}

// underLoad asks the host all the time, wherever its record leads just then; a request without an answer by the app fails the test at stop.
func underLoad(t *testing.T, dns *externalDNS, app *testbed.App, host string) (stop func()) {
	t.Helper()
	l, err := load.Start(t.Context(), load.Options{
		URL: "http://" + host + "/", Rate: 50, Dial: dns.resolver().DialContext,
		Answered: func(header http.Header) bool { return isOf(app, header) },
	})
	suite.Must(t, err)
	return func() {
		t.Helper()
		if result := l.Stop(); result.Failed > 0 || result.Requests == 0 {
			t.Errorf("%d of %d requests to %s failed: %v, the first: %+v", result.Failed, result.Requests, host, result.ByStatus,
				result.Failures[:min(1, len(result.Failures))])
		}
	}
}
