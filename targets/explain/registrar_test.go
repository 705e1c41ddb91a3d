// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

func TestExplainSaysWhoRegisters(t *testing.T) {
	register := func(w *world) { w.namespace.Labels[ownership.RegisterLabel] = ownership.Enabled }
	ours := func(w *world) {
		w.binding.Finalizers = []string{v1beta1.BesideFinalizer}
		w.lease.Name = "beside"
	}
	theirs := func(w *world) {
		w.binding.Finalizers, w.binding.Status.Conditions = []string{v1beta1.Finalizer}, nil
		w.binding.Annotations = map[string]string{v1beta1.CheckpointAnnotation: "a/b"}
	}
	beside := func(w *world) { w.lease.Name = "beside" }
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
		"not supported, and not begun": {
			set: []func(*world){register, theirs, func(w *world) {
				w.binding.Finalizers, w.binding.Spec.TargetGroupProtocol = nil, ptr.To(v1beta1.Protocol("QUIC"))
			}},
			cause: "incumbent",
			want: "ok: aws-load-balancer-controller registers the targets, in spite of the namespace's label: " +
				"targets of protocol QUIC need QUIC server IDs",
		},
		"protected": {
			set: []func(*world){theirs, func(w *world) { w.namespace.Labels[ownership.ProtectLabel] = ownership.Enabled }},
			want: "ok: aws-load-balancer-controller registers the targets: by the namespace's label targetgate.dev/protect, " +
				"targetgate gives pods a preStop sleep, and no readiness gate",
		},
		"without a label, while targetgate works beside": {
			set:  []func(*world){theirs, beside},
			want: "ok: aws-load-balancer-controller registers the targets: the namespace has no label targetgate.dev/register=enabled",
		},
		"without a label, and a status of targetgate's is left": {
			set:  []func(*world){theirs, func(w *world) { w.binding.Status = newWorld().binding.Status }, beside},
			want: "ok: aws-load-balancer-controller registers the targets: the namespace has no label targetgate.dev/register=enabled",
		},
		"without a label, and targetgate has long stopped": {
			set: []func(*world){theirs, beside, func(w *world) { w.lease.Spec.RenewTime.Time = now.Add(-time.Hour) }}, endpoints: 1, cause: "targetgate",
		},
		"the incumbent has another binding of the group": {
			set: []func(*world){register, theirs, (*world).addRival},
			want: "ok: aws-load-balancer-controller registers the targets, in spite of the namespace's label: aws-load-balancer-controller has " +
				"TargetGroupBinding other/first of the same target group. Label its namespace, too (kubectl label namespace other " +
				"targetgate.dev/register=enabled), or remove the label from this one",
		},
		"no controller registers": {
			set: []func(*world){register, theirs, func(w *world) { w.binding.Finalizers = nil }, (*world).addRival}, cause: "registrar",
			want: "broken: no controller registers the targets: the namespace's label targetgate.dev/register keeps aws-load-balancer-controller away, and " +
				"targetgate does not take the binding: aws-load-balancer-controller has TargetGroupBinding other/first of the same target group. " +
				"Label its namespace, too (kubectl label namespace other targetgate.dev/register=enabled), or remove the label from this one",
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

// Who may not read leases does not learn whether targetgate works beside the incumbent. A binding of that one is not called broken for it.
func TestExplainWithoutLeases(t *testing.T) {
	for name, tc := range map[string]struct {
		change      func(*world)
		want, cause string
	}{
		"the incumbent's": {
			func(w *world) { w.protect("a/b", "") }, "unknown: aws-load-balancer-controller has its finalizer on the binding, and targetgate has " +
				"written nothing to it; whether targetgate works beside it is not known: you may not read lease targetgate-system/beside", "",
		},
		"the incumbent's, with a pass that failed": {
			func(w *world) { w.protect("", unix(time.Hour)) }, "unknown: aws-load-balancer-controller has its finalizer on the binding, and " +
				"targetgate has written nothing to it; whether targetgate works beside it is not known: you may not read lease " +
				"targetgate-system/beside", "incumbent",
		},
		"targetgate's alone": {func(*world) {}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			tc.change(w)
			w.namespace.Labels = map[string]string{readiness.InjectLabel: readiness.InjectEnabled}
			e, _ := w.forbidding(t, &coordinationv1.Lease{})
			report, err := e.Binding(t.Context(), client.ObjectKeyFromObject(w.binding))
			if err != nil {
				t.Fatal(err)
			}
			got, cause := "", ""
			for _, l := range report.Chains[0].Links {
				if l.Name == "registrar" {
					got = string(l.State) + ": " + l.Seen
				}
			}
			if report.Chains[0].Cause != nil {
				cause = report.Chains[0].Cause.Name
			}
			if got != tc.want || cause != tc.cause {
				t.Errorf("registrar %q, cause %q; want %q, %q", got, cause, tc.want, tc.cause)
			}
		})
	}
}
