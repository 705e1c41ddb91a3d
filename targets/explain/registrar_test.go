// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"testing"

	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

func TestExplainSaysWhoRegisters(t *testing.T) {
	register := func(w *world) { w.namespace.Labels[ownership.RegisterLabel] = ownership.Enabled }
	ours := func(w *world) {
		w.binding.Finalizers = []string{v1beta1.BesideFinalizer}
		w.lease.Name = "beside"
	}
	theirs := func(w *world) { w.binding.Finalizers, w.binding.Status.Conditions = []string{v1beta1.Finalizer}, nil }
	tests := map[string]struct {
		set       []func(*world)
		want      string // of the link registrar
		cause     string
		endpoints int
	}{
		"alone": {endpoints: 1},
		"ours":  {set: []func(*world){register, ours}, want: "ok: targetgate registers the targets, beside aws-load-balancer-controller", endpoints: 1},
		"to be given back": {
			set: []func(*world){ours}, cause: "registrar",
			want: "waiting: targetgate gives the binding back to aws-load-balancer-controller: the namespace has no label targetgate.dev/register=enabled",
		},
		"to be taken": {
			set: []func(*world){register, theirs}, cause: "registrar",
			want: "waiting: aws-load-balancer-controller has registered the targets, and targetgate takes the binding within half a minute",
		},
		"not supported": {
			set: []func(*world){register, theirs, func(w *world) { w.binding.Spec.TargetGroupProtocol = ptr.To(v1beta1.Protocol("QUIC")) }},
			want: "ok: aws-load-balancer-controller registers the targets, in spite of the namespace's label: " +
				"targets of protocol QUIC need QUIC server IDs",
		},
		"protected": {
			set:  []func(*world){theirs, func(w *world) { w.namespace.Labels[ownership.ProtectLabel] = ownership.Enabled }},
			want: "ok: aws-load-balancer-controller registers the targets; targetgate gives the pods a termination delay",
		},
		"a label that means nothing alone": {set: []func(*world){register}, endpoints: 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			for _, set := range tc.set {
				set(w)
			}
			chain := w.explained(t).Chains[0]
			got, cause := "", ""
			for _, l := range chain.Links {
				if l.Name == "registrar" {
					got = string(l.State) + ": " + l.Seen
				}
			}
			if chain.Cause != nil {
				cause = chain.Cause.Name
			}
			if got != tc.want || cause != tc.cause || len(chain.Endpoints) != tc.endpoints {
				t.Errorf("registrar %q, cause %q, %d endpoints, want %q, %q, %d", got, cause, len(chain.Endpoints), tc.want, tc.cause, tc.endpoints)
			}
		})
	}
}
