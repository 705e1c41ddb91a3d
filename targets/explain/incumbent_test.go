// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// protect has the incumbent register the pods of a protected namespace, with that checkpoint.
func (w *world) protect(checkpoint, seconds string) {
	w.namespace.Labels[ownership.ProtectLabel] = ownership.Enabled
	w.binding.Finalizers, w.binding.Status = []string{v1beta1.Finalizer}, v1beta1.TargetGroupBindingStatus{}
	w.binding.Annotations = map[string]string{v1beta1.CheckpointAnnotation: checkpoint, v1beta1.CheckpointTimestampAnnotation: seconds}
}

func unix(ago time.Duration) string { return strconv.FormatInt(now.Add(-ago).Unix(), 10) }

func TestExplainReadsTheMarksOfTheIncumbent(t *testing.T) {
	const (
		well    = "the last pass of aws-load-balancer-controller in which something changed has succeeded"
		no      = "aws-load-balancer-controller has its finalizer on the binding, and no checkpoint: no pass has succeeded, or its version is older than 2.10, which leaves none"
		unbegun = "aws-load-balancer-controller has not begun: its finalizer elbv2.k8s.aws/resources is not on the binding"
	)
	young := func(w *world) { w.binding.CreationTimestamp = ago(10 * time.Second) }
	tests := map[string]struct {
		checkpoint, at string
		change         func(*world)
		want           string // of the link incumbent
		advised        bool
	}{
		"its pass ended well":             {checkpoint: "a/b", at: unix(3 * time.Hour), want: "ok: " + well + " (2026-11-21T09:00:00Z, 3h0m0s ago)"},
		"at a time that is not told":      {checkpoint: "a/b", at: "", want: "ok: " + well},
		"at a time that is none":          {checkpoint: "a/b", at: "noon", want: "ok: " + well},
		"its pass is under way":           {at: unix(29 * time.Second), want: "waiting: a pass of aws-load-balancer-controller has been under way since 2026-11-21T11:59:31Z, or has failed"},
		"its pass has failed":             {at: unix(30 * time.Second), advised: true, want: "broken: aws-load-balancer-controller has an empty checkpoint (2026-11-21T11:59:30Z, 30s ago): its last pass failed"},
		"the binding was just given back": {at: unix(time.Hour), change: young, want: "waiting: aws-load-balancer-controller has an empty checkpoint (2026-11-21T11:00:00Z, 1h0m0s ago): its last pass failed"},
		"no checkpoint":                   {change: func(w *world) { w.binding.Annotations = nil }, advised: true, want: "unknown: " + no},
		"no checkpoint yet":               {change: func(w *world) { w.binding.Annotations = nil; young(w) }, want: "waiting: " + no},
		"no finalizer":                    {change: func(w *world) { w.binding.Finalizers = nil }, advised: true, want: "broken: " + unbegun},
		"no finalizer yet":                {change: func(w *world) { w.binding.Finalizers = nil; young(w) }, want: "waiting: " + unbegun},
		"being deleted":                   {checkpoint: "a/b", change: func(w *world) { w.binding.DeletionTimestamp = ptr.To(ago(time.Minute)) }, want: "waiting: aws-load-balancer-controller deregisters the targets: the binding was deleted at 2026-11-21T11:59:00Z"},
		"a finalizer is not to be expected": {change: func(w *world) {
			w.binding.Finalizers = nil
			w.namespace.Labels[ownership.RegisterLabel] = ownership.Enabled
		}},
		"targetgate's binding": {change: func(w *world) { w.binding.Finalizers = []string{v1beta1.BesideFinalizer} }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.protect(tc.checkpoint, tc.at)
			if tc.change != nil {
				tc.change(w)
			}
			got, advised := "", false
			for _, l := range w.explained(t).Chains[0].Links {
				if l.Name == "incumbent" {
					got, advised = string(l.State)+": "+l.Seen, l.Advice != ""
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || advised != tc.advised {
				t.Errorf("advice %t, want %t; link (-want +got):\n%s", advised, tc.advised, diff)
			}
		})
	}
}

func TestExplainOfAnIncumbentsBindingAsTextAndJSON(t *testing.T) {
	w := newWorld()
	w.protect("", unix(time.Minute))
	report, err := w.explainer(t).Binding(t.Context(), types.NamespacedName{Namespace: "shop", Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	want := `TargetGroupBinding shop/web
  ok       binding       registers pods at port http of Service "web"
  ok       registrar     aws-load-balancer-controller registers the targets: by the namespace's label targetgate.dev/protect, targetgate gives pods a preStop sleep, and no readiness gate
  broken   incumbent     aws-load-balancer-controller has an empty checkpoint (2026-11-21T11:59:00Z, 1m0s ago): its last pass failed
                         -> It tries again by itself, at most 1,000 s later. Its log and the binding's events say why: kubectl -n shop describe targetgroupbinding web
First broken link: incumbent
`
	var text strings.Builder
	if err := report.Text(&text, false, false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	var got struct {
		Bindings []struct {
			Cause struct{ Name, State, Advice string }
			Links []struct{ Name, State, Seen string }
		}
	}
	content, err := json.Marshal(report)
	if err == nil {
		err = json.Unmarshal(content, &got)
	}
	if err != nil || len(got.Bindings) != 1 || len(got.Bindings[0].Links) != 3 || got.Bindings[0].Cause.Name != "incumbent" || got.Bindings[0].Cause.State != "broken" {
		t.Errorf("JSON %s, error %v", content, err)
	}
}

// Of other namespaces users may know nothing: they are no reason, and a note says that they were not looked at.
func TestExplainWithoutTheRightToOtherNamespaces(t *testing.T) {
	w := newWorld()
	w.protect("a/b", "")
	w.namespace.Labels[ownership.RegisterLabel] = ownership.Enabled
	w.addRival()
	e := w.explainer(t)
	e.Reader = interceptor.NewClient(e.Reader.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, isNamespace := o.(*corev1.Namespace); isNamespace && key.Name != "shop" {
				return apierrors.NewForbidden(corev1.Resource("namespaces"), key.Name, errors.New("no role"))
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	report, err := New(*e).Binding(t.Context(), types.NamespacedName{Namespace: "shop", Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	if l := report.Chains[0].Links[1]; l.Name != "registrar" || l.State != Waiting {
		t.Errorf("link %+v, want that targetgate takes the binding", l)
	}
	if diff := cmp.Diff([]string{"you may not read namespaces: what they could change is not checked"}, report.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}
