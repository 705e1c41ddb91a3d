//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"maps"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/suite"
)

// Two groups side by side, each with an ExternalDNS that looks at its Ingresses alone: the same host leads to the public load balancer in
// the public zone, and to the other one in the private zone. The class is in an annotation, as in older manifests, and the name of one load
// balancer has capitals, which AWS keeps.
func TestEachGroupHasItsOwnRecords(t *testing.T) {
	t.Parallel()
	app := deploy(t, "groups")
	watchStatuses(t, app)
	const host, second = "app." + domain, "www." + domain
	manifest := func(group, scheme string, more ...string) *networkingv1.Ingress {
		out := newIngress(app, "app-"+group, group, append(more, prefix+"scheme="+scheme, "kubernetes.io/ingress.class=alb")...)
		out.Spec.IngressClassName = nil
		out.Spec.Rules[0].Host = host
		return out
	}
	ingresses := map[string]*networkingv1.Ingress{
		"public":  manifest("public", "internet-facing", prefix+"load-balancer-name=Public-Edge"),
		"vpn":     manifest("vpn", "internal"),
		"neither": manifest("neither", "internal"),
	}
	ingresses["public"].Spec.Rules = append(ingresses["public"].Spec.Rules, *ingresses["public"].Spec.Rules[0].DeepCopy())
	ingresses["public"].Spec.Rules[1].Host = second
	ingresses["neither"].Spec.Rules[0].Host = hostOf("neither")
	dns := map[string]*externalDNS{"public": startExternalDNS(t, "public", "public"), "vpn": startExternalDNS(t, "vpn", "private")}
	balancers := map[string]string{}
	for _, ingress := range ingresses {
		create(t, ingress)
	}
	for group, ingress := range ingresses {
		balancers[group] = awaitBalancer(t, ingress, "")
	}
	if !strings.HasPrefix(balancers["public"], "public-edge-") || !strings.HasPrefix(balancers["vpn"], "internal-k8s-vpn-") {
		t.Errorf("the load balancers are %v", balancers)
	}
	for group, d := range dns {
		d.awaitRecord(t, host, balancers[group])
		suite.Eventually(t, "answers by "+group, func() error { return answers(t, d, app, host) })
		d.awaitSynchronized(t)
		d.wantHistory(t, host, "CREATE "+balancers[group])
		d.wantHistory(t, hostOf("neither"))
	}
	dns["public"].wantHistory(t, second, "CREATE "+balancers["public"])
	dns["vpn"].wantHistory(t, second)
	remove(t, ingresses["vpn"])
	dns["vpn"].awaitNone(t, host)
	dns["public"].awaitSynchronized(t)
	dns["public"].wantHistory(t, host, "CREATE "+balancers["public"])
}

// ExternalDNS 0.22 has another prefix of annotations than those before, and one may run with either: targetgate leaves both alone, and warns
// of none.
func TestAnnotationsForExternalDNSAreLeftAlone(t *testing.T) {
	t.Parallel()
	app := deploy(t, "annotated")
	watchStatuses(t, app)
	const present, former = "external-dns.kubernetes.io/", "external-dns.alpha.kubernetes.io/"
	ingress := newIngress(app, "annotated", "annotated",
		present+"hostname="+hostOf("present"), present+"ttl=60", present+"ingress-hostname-source=annotation-only",
		former+"hostname="+hostOf("former"), former+"ttl=60", former+"aws-evaluate-target-health=false")
	want := maps.Clone(ingress.Annotations)
	byPresent := startExternalDNS(t, "annotated", "public")
	byFormer := startExternalDNS(t, "annotated", "public", "--annotation-prefix="+former)

	c, warned := bed.WarnedClient(t)
	createBy(t, c, ingress)
	balancer := awaitBalancer(t, ingress, "")
	byPresent.awaitRecord(t, hostOf("present"), balancer)
	byFormer.awaitRecord(t, hostOf("former"), balancer)
	byFormer.awaitRecord(t, hostOf(ingress.Name), balancer)
	if record, _ := byFormer.Record(byFormer.zone, hostOf("former"), "A"); record.Alias.EvaluateTargetHealth {
		t.Errorf("there is %+v, which does not follow the annotation", *record.Alias)
	}
	suite.Eventually(t, "answers", func() error { return answers(t, byFormer, app, hostOf(ingress.Name)) })
	byPresent.awaitSynchronized(t)
	byPresent.wantHistory(t, hostOf(ingress.Name))
	byPresent.wantHistory(t, hostOf("former"))

	suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(ingress), ingress))
	if !maps.Equal(ingress.Annotations, want) {
		t.Errorf("the annotations are %q, want %q", ingress.Annotations, want)
	}
	if texts := warned.Texts(); len(texts) > 0 {
		t.Errorf("admission has warned: %q", texts)
	}
	var list eventsv1.EventList
	suite.Must(t, bed.Client.List(t.Context(), &list, client.InNamespace(app.Name)))
	told := false
	for _, event := range list.Items {
		if event.Regarding.Kind != "Ingress" {
			continue
		}
		told = true
		if event.Type != "Normal" {
			t.Errorf("event %s %s: %s", event.Type, event.Reason, event.Note)
		}
	}
	if !told {
		t.Error("no event about the Ingress, want one that tells of a pass")
	}
}
