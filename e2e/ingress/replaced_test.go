//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/suite"
)

// Rule 33: a tool that replaces the whole Ingress takes its finalizer off, and deletes it before that is back.
func TestAnIngressThatIsReplacedAndDeletedLeavesNoLoadBalancer(t *testing.T) {
	app := newApp("replaced-away")
	app.Replicas = 1
	ingress, balancer, _ := serve(t, app, "target-type=ip")
	var there networkingv1.Ingress
	suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(ingress), &there))
	there.Finalizers = nil // the same manifest, put
	suite.Must(t, bed.Client.Update(t.Context(), &there))
	suite.Must(t, bed.Client.Delete(t.Context(), &there))
	suite.Eventually(t, "its load balancer to be gone", func() error {
		if _, found := bed.AWS.ELB.BalancerNamed(balancer); found {
			return fmt.Errorf("%s is there", balancer)
		}
		return nil
	})
}
