//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/acm"
	"github.com/targetgate/targetgate/e2e/suite"
)

// A host without a certificate is its own Ingress's affair, and one that is issued later is found without an edit.
func TestACertificateIsIssuedLater(t *testing.T) {
	t.Parallel()
	app := newApp("issued")
	app.Replicas = 1
	members, balancer := serveGroup(t, app, 2)
	secure := member(app, "issued-secure", app.Name, `listen-ports=[{"HTTPS":443}]`)
	secret := &corev1.Secret{ // as cert-manager has it
		ObjectMeta: metav1.ObjectMeta{Namespace: secure.Namespace, Name: "issued-tls"}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: []byte("certificate"), corev1.TLSPrivateKeyKey: []byte("key")},
	}
	suite.Must(t, bed.Client.Create(t.Context(), secret))
	secure.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{secure.Spec.Rules[0].Host}, SecretName: secret.Name}}
	c, warned := bed.WarnedClient(t)
	suite.Must(t, c.Create(t.Context(), secure.DeepCopy(), client.DryRunAll))
	if texts := warned.Texts(); len(texts) != 1 || !strings.Contains(texts[0], `spec.tls[0].secretName, value "issued-tls": is not used`) {
		t.Errorf("admission warns %q, want that the Secret is not used", texts)
	}
	create(t, secure)
	suite.Eventually(t, "an event", func() error { return said(t, secure, "ACM has no certificate for this host") })
	suite.Must(t, said(t, secure, "Secret issued-tls of spec.tls is not used"))
	change(t, members[0], func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Path = "/changed" })
	suite.Eventually(t, "another member to be changed meanwhile", func() error {
		return answeredBy(t, app, balancer, members[0].Name+".example.com", "/changed")
	})
	certificate, err := bed.AWS.ACM.Add("", acm.Spec{Domains: []string{"*.example.com"}})
	suite.Must(t, err)
	t.Cleanup(func() { suite.Must(t, bed.AWS.ACM.Delete(certificate.ARN)) })
	suite.Eventually(t, "answers over HTTPS", func() error {
		return answersOverTLS(balancer, secure.Spec.Rules[0].Host, certificate)
	})
	suite.Must(t, bed.Client.Delete(t.Context(), secure.DeepCopy()))
	suite.Eventually(t, "the listener with the certificate to be gone", func() error {
		return wantListeners(balancer, 80)
	})
}

func wantListeners(balancer string, want ...int) error {
	b, _ := bed.AWS.ELB.BalancerNamed(balancer)
	listeners, err := bed.AWS.ELB.Listeners(b.ARN)
	var ports []int
	for _, l := range listeners {
		ports = append(ports, l.Port)
	}
	if slices.Sort(ports); err == nil && !slices.Equal(ports, want) {
		err = fmt.Errorf("there are listeners on %v, want %v", ports, want)
	}
	return err
}

// One member's redirect takes the rules of those without HTTPS off the HTTP listener, as aws-load-balancer-controller has it. They are told.
func TestARedirectOfTheGroupIsToldToThoseWhoLoseRoutes(t *testing.T) {
	t.Parallel()
	app := newApp("redirected")
	app.Replicas = 1
	members, balancer := serveGroup(t, app, 1)
	certificate, err := bed.AWS.ACM.Add("", acm.Spec{Domains: []string{"secure.redirected.test"}})
	suite.Must(t, err)
	secure := member(app, "redirected-secure", app.Name, `listen-ports=[{"HTTP":80},{"HTTPS":443}]`, "ssl-redirect=443",
		"certificate-arn="+certificate.ARN)
	create(t, secure)
	suite.Eventually(t, "an event", func() error { return said(t, members[0], "has no HTTPS listener") })
	suite.Eventually(t, "the redirect", func() error {
		status, _, err := ask(t, balancer, members[0].Name+".example.com", "/")
		if err == nil && status != http.StatusMovedPermanently {
			err = fmt.Errorf("answered with %d, want 301", status)
		}
		return err
	})
	suite.Must(t, bed.Client.Delete(t.Context(), secure.DeepCopy()))
	suite.Eventually(t, "the rules to be back", func() error { return allAnswer(t, app, balancer, members) })
}

// A protected load balancer is never unprotected, and serves on: also when another one that replaces it serves, and when its Ingress has
// gone. The Ingress is told, and its deletion ends.
func TestAProtectedLoadBalancerStays(t *testing.T) {
	t.Parallel()
	app := newApp("protected")
	app.Replicas = 1
	ingress, before, host := serve(t, app, "target-type=ip", "load-balancer-attributes=deletion_protection.enabled=true")
	change(t, ingress, func(i *networkingv1.Ingress) { i.Annotations[prefix+"scheme"] = "internet-facing" })
	var after string
	suite.Eventually(t, "another load balancer in the status", func() error {
		if after = awaitHost(t, ingress); after == before {
			return errors.New("it is the old one")
		}
		return nil
	})
	suite.Must(t, answeredBy(t, app, after, host, "/"))
	suite.Eventually(t, "an event", func() error { return said(t, ingress, "deletion protection") })
	suite.Must(t, bed.Client.Delete(t.Context(), ingress.DeepCopy()))
	awaitDeleted(t, ingress)
	suite.Eventually(t, "a pass that has seen the end of the Ingress, after which nothing is tried any more", func() error {
		told, err := bed.MetricLines(t, `targetgate_ingress_group_failing{group="protected/protected"}`)
		if err == nil && len(told) > 0 {
			err = fmt.Errorf("the group is told of: %v", told)
		}
		return err
	})
	for _, name := range []string{before, after} {
		balancer, there := bed.AWS.ELB.BalancerNamed(name)
		if !there {
			t.Fatalf("the protected load balancer %s is gone", name)
		}
		if err := answeredBy(t, app, name, host, "/"); err != nil {
			t.Errorf("the protected load balancer %s: %v", name, err)
		}
		_, err := bed.AWS.ELB.BalancerAttributes(balancer.ARN, map[string]string{"deletion_protection.enabled": "false"})
		suite.Must(t, err)
	}
	// What was made for an Ingress that has gone goes at once when one of its name comes and goes.
	again := newIngress(app.Name, []networkingv1.IngressRule{rule(host, "/ "+app.Name)}, "target-type=ip")
	create(t, again)
	awaitHost(t, again)
	suite.Must(t, bed.Client.Delete(t.Context(), again.DeepCopy()))
	awaitGone(t, again, "protected/protected")
}

// Rule 18: a security group lingers for as long as interfaces of the load balancer do. The Ingress does not wait for it.
func TestADeletionDoesNotWaitForWhatLingers(t *testing.T) {
	t.Parallel()
	app := newApp("lingers")
	app.Replicas = 1
	ingress, _, _ := serve(t, app, "target-type=ip")
	suite.Must(t, bed.Client.Delete(t.Context(), ingress.DeepCopy()))
	awaitDeleted(t, ingress)
	left, err := leftOf("lingers/lingers")
	suite.Must(t, err)
	if len(left) == 0 {
		t.Error("nothing lingers, so the test proves nothing")
	}
	awaitGone(t, ingress, "lingers/lingers")
}

// Rule 21: who goes over a quota is told, before AWS is asked; the others are served, and when one of them goes there is room.
func TestAQuotaOfRules(t *testing.T) {
	t.Parallel()
	app := newApp("quota")
	app.Replicas = 1
	bed.Deploy(t, app)
	sized := func(name string, paths int) *networkingv1.Ingress {
		m := member(app, "quota-"+name, app.Name)
		var list []string
		for i := range paths {
			list = append(list, fmt.Sprintf("/%03d quota", i))
		}
		m.Spec.Rules = []networkingv1.IngressRule{rule(m.Name+".example.com", list...)}
		create(t, m)
		return m
	}
	first, second, over := sized("a", 60), sized("b", 40), sized("c", 2)
	answers := func(m *networkingv1.Ingress, path string) func() error {
		return func() error {
			return answeredBy(t, app, awaitHost(t, m), m.Name+".example.com", path)
		}
	}
	suite.Eventually(t, "the first one to be served", answers(first, "/059"))
	suite.Eventually(t, "the second one to be served", answers(second, "/039"))
	suite.Eventually(t, "an event", func() error { return said(t, over, "its quota is 100") })
	change(t, second, func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[7].Path = "/changed" })
	suite.Eventually(t, "a change at the quota", answers(second, "/changed"))
	suite.Must(t, bed.Client.Delete(t.Context(), first.DeepCopy()))
	suite.Eventually(t, "the one that had no room to be served", func() error {
		return answeredBy(t, app, awaitHost(t, over), over.Name+".example.com", "/001")
	})
}

// Two default classes are the affair of those Ingresses that name none.
func TestTwoDefaultClasses(t *testing.T) {
	t.Parallel()
	app := newApp("defaults")
	app.Replicas = 1
	members, balancer := serveGroup(t, app, 1)
	classless := member(app, "defaults-classless", app.Name)
	classless.Spec.IngressClassName = nil
	create(t, classless)
	for _, name := range []string{"default-a", "default-b"} {
		class := &networkingv1.IngressClass{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{networkingv1.AnnotationIsDefaultIngressClass: "true"}},
			Spec:       networkingv1.IngressClassSpec{Controller: "ingress.k8s.aws/alb"},
		}
		suite.Must(t, bed.Client.Create(t.Context(), class))
		t.Cleanup(func() { suite.Must(t, bed.Client.Delete(context.Background(), class)) })
	}
	change(t, classless, func(i *networkingv1.Ingress) { i.Spec.IngressClassName = nil })
	suite.Eventually(t, "an event", func() error { return said(t, classless, "are both default classes") })
	change(t, members[0], func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Path = "/changed" })
	suite.Eventually(t, "the member with a class to be changed", func() error {
		return answeredBy(t, app, balancer, members[0].Name+".example.com", "/changed")
	})
	change(t, classless, func(i *networkingv1.Ingress) { i.Spec.IngressClassName = ptr.To("alb") })
	suite.Eventually(t, "the other one to be served once it has a class", func() error {
		return answeredBy(t, app, balancer, classless.Name+".example.com", "/")
	})
}
