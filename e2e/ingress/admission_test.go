//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ingressapi "github.com/targetgate/targetgate/balancers/v1beta1"
	"github.com/targetgate/targetgate/e2e/suite"
)

// What aws-load-balancer-controller refuses is refused. An Ingress whose class has gone can still be deleted.
func TestAdmission(t *testing.T) {
	t.Parallel()
	app := newApp("admission")
	app.Replicas = 1
	bed.Deploy(t, app)
	refused := func(ingress *networkingv1.Ingress, text string) {
		t.Helper()
		if err := bed.Client.Create(t.Context(), ingress); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v, want a refusal that says %q", err, text)
		}
	}
	refused(member(app, "bad", "admission", `conditions.admission=[{"field": "host-header"}]`), "conditions.admission")
	classless := member(app, "classless", "admission")
	classless.Spec.IngressClassName = ptr.To("no-such-class")
	refused(classless, "no-such-class")
	params := &ingressapi.IngressClassParams{
		ObjectMeta: metav1.ObjectMeta{Name: "admission"}, Spec: ingressapi.IngressClassParamsSpec{InboundCIDRs: []string{"10.1.2.3/8"}},
	}
	if err := bed.Client.Create(t.Context(), params); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "10.0.0.0/8") {
		t.Errorf("error %v, want a refusal that says what would be right", err)
	}
	params.Labels = map[string]string{"app.kubernetes.io/name": "targetgate"} // an installation makes its own before targetgate answers
	suite.Must(t, bed.Client.Create(t.Context(), params))
	params.Spec.InboundCIDRs = []string{"10.1.2.3/16"}
	if err := bed.Client.Update(t.Context(), params); !apierrors.IsForbidden(err) {
		t.Errorf("error %v, want a refusal of the change", err)
	}
	suite.Must(t, bed.Client.Delete(t.Context(), params))
	class := &networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{Name: "short-lived"}, Spec: networkingv1.IngressClassSpec{Controller: "ingress.k8s.aws/alb"},
	}
	suite.Must(t, bed.Client.Create(t.Context(), class))
	orphan := member(app, "orphan", "orphan")
	orphan.Spec.IngressClassName = &class.Name
	create(t, orphan)
	awaitHost(t, orphan)
	suite.Must(t, bed.Client.Delete(t.Context(), class))
	suite.Eventually(t, "the Ingress to be told", func() error { return said(t, orphan, "short-lived") })
	suite.Must(t, bed.Client.Delete(t.Context(), orphan.DeepCopy()))
	awaitGone(t, orphan, "orphan")
}
