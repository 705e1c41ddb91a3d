// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package rollouts

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/targetgate/targetgate/e2e/emulator"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// A Service for HTTP/3 has 443 for UDP and for TCP. The target group's protocol says which of them is meant.
func TestPortsOfOneNumber(t *testing.T) {
	app := suite.NewApp("twoports")
	app.Gated = false
	app.Balancer = func(s *emulator.Service) { s.Type = state.Network }
	app.Service = func(s *corev1.Service) {
		s.Spec.Ports = []corev1.ServicePort{
			{Name: "h3", Port: 443, Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromInt32(8443)},
			{Name: "h2", Port: 443, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8080)},
		}
	}
	app.Change = func(b *v1beta1.TargetGroupBinding) { b.Spec.ServiceRef.Port = intstr.FromInt32(443) }
	bed.Deploy(t, app)
	bed.AwaitContainersReady(t, app)
	suite.Eventually(t, "the targets", func() error {
		return bed.WantTargets(app, suite.KeysOf(bed.Pods(t, app), 8080)...)
	})
}
