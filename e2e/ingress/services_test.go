//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/e2e/suite"
)

// ruleLag is longer than load balancers of this bed follow former rules.
const ruleLag = 4 * time.Second

// Requests go to another Service: the first one serves them until targets of the other one are healthy. So they do when a new rule takes
// some of its requests.
func TestAnotherServiceTakesOverUnderLoad(t *testing.T) {
	t.Parallel()
	app, next := newApp("handover"), newApp("handover-next") // the load takes answers of both, as their pods' names begin alike
	next.Namespace, next.Replicas = app.Name, 0
	ingress, balancer, host := serve(t, app, "target-type=ip")
	suite.Must(t, bed.Bed.Deploy(t.Context(), next))
	stop, stopPart := underLoad(t, app, balancer, host, "/"), underLoad(t, app, balancer, host, "/part")
	lead := func(paths ...string) {
		t.Helper()
		change(t, ingress, func(i *networkingv1.Ingress) { i.Spec.Rules = []networkingv1.IngressRule{rule(host, paths...)} })
	}
	lead("/part handover-next", "/ handover")
	suite.Eventually(t, "the new rule", func() error { return wantRules("handover/handover", []string{"/part", "/*"}) })
	suite.Throughout(t, ruleLag, "the first Service serves while the other one has no pod", func() error {
		return answeredBy(t, app, balancer, host, "/part")
	})
	suite.Must(t, bed.Scale(t.Context(), next, 2))
	suite.Eventually(t, "the other one to serve", func() error { return answeredBy(t, next, balancer, host, "/part") })
	lead("/ handover-next")
	awaitTargetGroups(t, "handover/handover", "handover/handover-handover-next:80 ip")
	lead("/ handover")
	awaitTargetGroups(t, "handover/handover", "handover/handover-handover:80 ip")
	stop()
	stopPart()
}
