//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// The plain one: a class by name, paths of type Prefix, targets of type instance, and subnets and a security group that targetgate finds
// and makes.
func TestPlainIngress(t *testing.T) {
	t.Parallel()
	web, api := newApp("plain"), newApp("plain-api")
	api.Namespace = web.Name
	for _, app := range []*testbed.App{web, api} {
		app.Service = func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }
	}
	bed.Deploy(t, web)
	suite.Must(t, bed.Bed.Deploy(t.Context(), api))
	ingress := newIngress("plain", []networkingv1.IngressRule{rule("", "/ plain", "/api plain-api")})
	create(t, ingress)
	host := awaitHost(t, ingress)
	if !strings.HasPrefix(host, "internal-k8s-plain-plain-") {
		t.Errorf("the load balancer's name is %s, want that of an internal one of plain/plain", host)
	}
	suite.Eventually(t, "answers", func() error {
		if err := answeredBy(t, web, host, host, "/"); err != nil {
			return err
		}
		return answeredBy(t, api, host, host, "/api/orders")
	})
	bed.AwaitRolled(t, web)
	suite.Must(t, bed.Client.Delete(t.Context(), ingress.DeepCopy()))
	awaitGone(t, ingress, "plain/plain")
}
