// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package rollouts

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Flux with force deletes an object whose update is Invalid, and creates it again. So a fault that can be mended is Forbidden, whoever
// finds it, also beside a change that takes a new binding.
func TestFaultThatCanBeMendedIsForbidden(t *testing.T) {
	app := suite.NewApp("fluxforce")
	app.Replicas = 0
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	badRange := func(b *v1beta1.TargetGroupBinding) {
		b.Spec.Networking = &v1beta1.TargetGroupBindingNetworking{Ingress: []v1beta1.NetworkingIngressRule{{
			From: []v1beta1.NetworkingPeer{{IPBlock: &v1beta1.IPBlock{CIDR: "10.0.0.0/33"}}}, Ports: []v1beta1.NetworkingPort{{}},
		}}}
	}
	anotherGroup := func(b *v1beta1.TargetGroupBinding) { b.Spec.TargetGroupARN += "0" }
	tests := map[string]struct {
		change []func(*v1beta1.TargetGroupBinding)
		want   func(error) bool
	}{
		"a protocol that the group has not": {[]func(*v1beta1.TargetGroupBinding){func(b *v1beta1.TargetGroupBinding) {
			b.Spec.TargetGroupProtocol = ptr.To[v1beta1.Protocol]("TCP")
		}}, apierrors.IsForbidden},
		"another group": {[]func(*v1beta1.TargetGroupBinding){anotherGroup}, apierrors.IsInvalid},
		"a bad range":   {[]func(*v1beta1.TargetGroupBinding){badRange}, apierrors.IsForbidden},
		"a bad role": {[]func(*v1beta1.TargetGroupBinding){func(b *v1beta1.TargetGroupBinding) {
			b.Spec.IamRoleArnToAssume = "shared"
		}}, apierrors.IsForbidden},
		"no Service": {[]func(*v1beta1.TargetGroupBinding){func(b *v1beta1.TargetGroupBinding) {
			b.Spec.ServiceRef.Name = ""
		}}, apierrors.IsForbidden},
		"another group beside a bad range": {[]func(*v1beta1.TargetGroupBinding){anotherGroup, badRange}, apierrors.IsForbidden},
		"a type that the group has not": {[]func(*v1beta1.TargetGroupBinding){func(b *v1beta1.TargetGroupBinding) {
			b.Spec.TargetType = ptr.To(v1beta1.TargetTypeInstance)
		}}, apierrors.IsForbidden},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			binding := bed.GetBinding(t, app)
			for _, change := range tc.change {
				change(binding)
			}
			if err := bed.Client.Update(t.Context(), binding, client.DryRunAll); !tc.want(err) {
				t.Errorf("got code %s, %v", apierrors.ReasonForError(err), err)
			}
		})
	}
}
