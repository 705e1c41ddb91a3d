// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

func newBinding(name, finalizer string) *v1beta1.TargetGroupBinding {
	b := fixture.Binding()
	b.Name, b.Finalizers = name, []string{finalizer}
	b.Status.TargetGroup = &v1beta1.TargetGroupSettings{Protocol: "HTTP"}
	b.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(fixture.Noon)}}
	return b
}

func newCluster(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1beta1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&v1beta1.TargetGroupBinding{}).WithInterceptorFuncs(funcs).Build()
}

var lease = client.ObjectKey{Namespace: "targetgate-system", Name: ownership.BesideLease}

func labelled(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{ownership.RegisterLabel: ownership.Enabled, "team": "a"}}}
}

func TestAllGivesBackWhatIsOurs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, interceptor.Funcs{}, labelled("shop"), free(),
			newBinding("ours", v1beta1.BesideFinalizer), newBinding("theirs", v1beta1.Finalizer))
		var out bytes.Buffer
		if err := All(t.Context(), c, lease, &out); err != nil {
			t.Fatal(err)
		}
		want := "removed label targetgate.dev/register from namespace shop\ngave back shop/ours\n"
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("output (-want +got):\n%s", diff)
		}
		for name, conditions := range map[string]int{"ours": 0, "theirs": 1} {
			var got v1beta1.TargetGroupBinding
			if err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{v1beta1.Finalizer}, got.Finalizers); diff != "" || len(got.Status.Conditions) != conditions {
				t.Errorf("%s has %d conditions and finalizers (-want +got):\n%s", name, len(got.Status.Conditions), diff)
			}
			if kept := got.Status.TargetGroup != nil; kept != (conditions > 0) {
				t.Errorf("%s keeps what we know of its target group: %t", name, kept)
			}
		}
		var ns corev1.Namespace
		if err := c.Get(t.Context(), client.ObjectKey{Name: "shop"}, &ns); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"team": "a"}, ns.Labels); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
	})
}

func TestAllTriesAgainAndNamesWhatIsLeft(t *testing.T) {
	tests := map[string]struct {
		refusals int // of writes of the binding
		deleting bool
		left     string // empty for nothing
	}{
		"one write fails":            {refusals: 1},
		"all writes fail":            {refusals: 1000, left: "shop/ours: giving the binding back: clearing the status: no"},
		"targetgate has to clean up": {deleting: true, left: "shop/ours: it is being deleted, and targetgate has to deregister its targets first"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				left := tc.refusals
				c := newCluster(t, interceptor.Funcs{
					SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
						if left--; left >= 0 {
							return errors.New("no")
						}
						return c.SubResource(sub).Patch(ctx, o, p, opts...)
					},
				}, newBinding("ours", v1beta1.BesideFinalizer), free())
				if tc.deleting {
					if err := c.Delete(t.Context(), newBinding("ours", "")); err != nil {
						t.Fatal(err)
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := All(ctx, c, lease, &bytes.Buffer{})
				if (err == nil) != (tc.left == "") || err != nil && !strings.Contains(err.Error(), tc.left) {
					t.Errorf("left %v, want %q", err, tc.left)
				}
			})
		})
	}
}

// The cache of whoever gives back may be behind.
func TestGiveBackRefusesAnOldBinding(t *testing.T) {
	c := newCluster(t, interceptor.Funcs{}, newBinding("ours", v1beta1.BesideFinalizer))
	var old v1beta1.TargetGroupBinding
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "ours"}, &old); err != nil {
		t.Fatal(err)
	}
	changed := old.DeepCopy()
	changed.Finalizers = append(changed.Finalizers, "more")
	if err := c.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	if given, err := GiveBack(t.Context(), c, &old); err == nil || given {
		t.Error("a binding that has changed is overwritten")
	}
}

func TestGiveBackTellsOfNoBindingThatIsGone(t *testing.T) {
	for name, refusal := range map[string]interceptor.Funcs{"before the first write": {}, "before the second": {
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return errors.Join(c.Delete(ctx, o), client.IgnoreNotFound(c.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))), c.Patch(ctx, o, p, opts...))
		},
	}} {
		t.Run(name, func(t *testing.T) {
			ours := newBinding("ours", v1beta1.BesideFinalizer)
			var objects []client.Object
			if refusal.Patch != nil {
				objects = append(objects, ours.DeepCopy())
			}
			c := newCluster(t, refusal, objects...)
			if len(objects) > 0 {
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(ours), ours); err != nil {
					t.Fatal(err)
				}
			}
			if given, err := GiveBack(t.Context(), c, ours); given || err != nil {
				t.Errorf("given %t, error %v, want neither", given, err)
			}
		})
	}
}
