// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// targetgate stands for one that has the lease. It gives the first binding back some time after the command began, unless that is 0, the
// next ones as long after each other, and stops renewing its lease at another time.
type targetgate struct {
	givesAfter, stopsAfter time.Duration
}

// held is a lease that was renewed at some time, by a clock of which nothing is known.
func held() *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: lease.Namespace, Name: lease.Name},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("targetgate-0"), LeaseDurationSeconds: ptr.To[int32](15), RenewTime: ptr.To(metav1.NewMicroTime(time.Unix(0, 0))),
		},
	}
}

// free is a lease as its last holder has left it.
func free() *coordinationv1.Lease {
	out := held()
	out.Spec.HolderIdentity = ptr.To("")
	return out
}

// works renews the lease and gives back at each look that the command takes at the lease.
func (g targetgate) works(began time.Time) interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			err := c.Get(ctx, key, o, opts...)
			l, isLease := o.(*coordinationv1.Lease)
			if !isLease || err != nil {
				return err
			}
			ran := time.Since(began)
			l.Spec.RenewTime = ptr.To(metav1.NewMicroTime(time.Unix(0, 0).Add(min(ran, g.stopsAfter))))
			if g.givesAfter == 0 || ran < g.givesAfter {
				return nil
			}
			var list v1beta1.TargetGroupBindingList
			if err := c.List(ctx, &list); err != nil {
				return err
			}
			for i := range list.Items {
				binding := &list.Items[i]
				if due := ran >= g.givesAfter*time.Duration(i+1); due && slices.Contains(binding.Finalizers, v1beta1.BesideFinalizer) {
					if _, err := GiveBack(ctx, c, binding); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
}

func TestAllLeavesBindingsToATargetgateThatWorks(t *testing.T) {
	const hour = time.Hour
	tests := map[string]struct {
		targetgate *targetgate // nil where none has the lease any more
		mine       bool        // the command has to give back
		least      time.Duration
		most       time.Duration
	}{
		"none has the lease":               {mine: true, most: watched + pause},
		"it gives back":                    {targetgate: &targetgate{givesAfter: 30 * time.Second, stopsAfter: hour}, least: 30 * time.Second, most: 34 * time.Second},
		"it takes long, but is patient":    {targetgate: &targetgate{givesAfter: 110 * time.Second, stopsAfter: hour}, least: 110 * time.Second, most: 114 * time.Second},
		"it was killed before":             {targetgate: &targetgate{}, mine: true, least: 15 * time.Second, most: 19 * time.Second},
		"it is killed meanwhile":           {targetgate: &targetgate{stopsAfter: 30 * time.Second}, mine: true, least: 45 * time.Second, most: 49 * time.Second},
		"it works, and does not give back": {targetgate: &targetgate{stopsAfter: hour}, mine: true, least: patience, most: patience + 4*time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				objects := []client.Object{labelled("shop"), newBinding("ours", v1beta1.BesideFinalizer)}
				funcs, began, last := interceptor.Funcs{}, time.Now(), free()
				if tc.targetgate != nil {
					last, funcs = held(), tc.targetgate.works(began)
				}
				objects = append(objects, last)
				c := newCluster(t, funcs, objects...)
				var out bytes.Buffer
				if err := All(t.Context(), c, lease, &out); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took < tc.least || took > tc.most {
					t.Errorf("it takes %s, want %s to %s", took, tc.least, tc.most)
				}
				if mine := strings.Contains(out.String(), "gave back shop/ours\n"); mine != tc.mine {
					t.Errorf("it says %q, want it to give back: %t", out.String(), tc.mine)
				}
				if says := strings.Count(out.String(), "targetgate-0 has the lease targetgate-system/targetgate-leader: waiting"); (says == 1) != (tc.targetgate != nil) {
					t.Errorf("it says %d times that it waits:\n%s", says, out.String())
				}
			})
		})
	}
}

// Where there is no such lease, targetgate may run in another namespace: it is left the time to give back, and is told of.
func TestAllWaitsForATargetgateWithAnotherLease(t *testing.T) {
	for name, tc := range map[string]struct {
		gives       bool
		least, most time.Duration
	}{
		"it gives back": {gives: true, least: 30 * time.Second, most: 34 * time.Second},
		"there is none": {least: patience, most: patience + 4*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				c := newCluster(t, interceptor.Funcs{
					Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
						var there v1beta1.TargetGroupBinding
						if _, isLease := o.(*coordinationv1.Lease); isLease && tc.gives && time.Since(began) >= tc.least {
							if err := c.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "ours"}, &there); err != nil {
								return err
							}
							if _, err := GiveBack(ctx, c, &there); err != nil {
								return err
							}
						}
						return c.Get(ctx, key, o, opts...)
					},
				}, newBinding("ours", v1beta1.BesideFinalizer))
				var out bytes.Buffer
				if err := All(t.Context(), c, lease, &out); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took < tc.least || took > tc.most {
					t.Errorf("it takes %s, want %s to %s", took, tc.least, tc.most)
				}
				const says = "there is no lease targetgate-system/targetgate-leader, and targetgate may run with another one (--leader-election-namespace): waiting"
				if strings.Count(out.String(), says) != 1 || strings.Contains(out.String(), "gave back shop/ours\n") == tc.gives {
					t.Errorf("want it told once, and given back by the command: %t:\n%s", !tc.gives, out.String())
				}
			})
		})
	}
}

// An installation that never led has nothing to give back, and waits for nobody.
func TestAllHasNothingToDoWhereNobodyEverLed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := newCluster(t, interceptor.Funcs{}, newBinding("theirs", v1beta1.Finalizer))
		var out bytes.Buffer
		if err := All(t.Context(), c, lease, &out); err != nil || time.Since(began) > pause || out.Len() > 0 {
			t.Errorf("after %s: error %v, output %q", time.Since(began), err, out.String())
		}
	})
}

// What it gives back shows that it works.
func TestAllIsPatientWhileBindingsBecomeFewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each = 100 * time.Second
		began := time.Now()
		c := newCluster(t, targetgate{givesAfter: each, stopsAfter: time.Hour}.works(began), held(),
			newBinding("a", v1beta1.BesideFinalizer), newBinding("b", v1beta1.BesideFinalizer), newBinding("c", v1beta1.BesideFinalizer))
		var out bytes.Buffer
		if err := All(t.Context(), c, lease, &out); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 3*each || strings.Contains(out.String(), "gave back") {
			t.Errorf("it takes %s, want %s at least, and gives back itself:\n%s", took, 3*each, out.String())
		}
	})
}

// Somebody who puts the label back would do so again.
func TestAllTellsOfALabelThatComesBack(t *testing.T) {
	tests := map[string]struct {
		targetgate bool
		goesAfter  time.Duration // the label's owner gives up; 0 is never
		want       string        // of the error; empty for none
		finalizer  string        // at the end
	}{
		"a targetgate works": {targetgate: true, finalizer: v1beta1.BesideFinalizer, want: "namespace shop: label targetgate.dev/register was removed " +
			"and is back: remove it where it comes from, such as a manifest of Argo CD or Flux, and run this again\n" +
			"shop/ours: namespace shop has the label targetgate.dev/register, so that targetgate would take it again"},
		"none works":                     {finalizer: v1beta1.Finalizer, want: "namespace shop: label targetgate.dev/register was removed and is back"},
		"it is gone later, for good":     {targetgate: true, goesAfter: time.Minute, finalizer: v1beta1.Finalizer},
		"it is gone later, nobody works": {goesAfter: time.Minute, finalizer: v1beta1.Finalizer},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				funcs, objects := interceptor.Funcs{}, []client.Object{labelled("shop"), newBinding("ours", v1beta1.BesideFinalizer)}
				last := free()
				if tc.targetgate {
					funcs, last = targetgate{stopsAfter: time.Hour}.works(began), held()
				}
				objects = append(objects, last)
				list := 0
				funcs.List = func(ctx context.Context, c client.WithWatch, o client.ObjectList, opts ...client.ListOption) error {
					if _, namespaces := o.(*corev1.NamespaceList); namespaces {
						if list++; list == 3 {
							if err := c.Update(ctx, labelled("shop")); err != nil {
								return err
							}
						}
						if tc.goesAfter > 0 && time.Since(began) > tc.goesAfter {
							if err := c.Update(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}); err != nil {
								return err
							}
						}
					}
					return c.List(ctx, o, opts...)
				}
				c := newCluster(t, funcs, objects...)
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				var out bytes.Buffer
				err := All(ctx, c, lease, &out)
				if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
					t.Errorf("error %v, want %q", err, tc.want)
				}
				for _, line := range []string{"removed label " + ownership.RegisterLabel + " from namespace shop\n", "and is back: remove it where it comes from"} {
					if n := strings.Count(out.String(), line); n != 1 {
						t.Errorf("it says %d times %q:\n%s", n, line, out.String())
					}
				}
				var got v1beta1.TargetGroupBinding
				if err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "ours"}, &got); err != nil {
					t.Fatal(err)
				}
				if !slices.Contains(got.Finalizers, tc.finalizer) {
					t.Errorf("finalizers %q, want %s", got.Finalizers, tc.finalizer)
				}
			})
		})
	}
}

// Whether somebody works is not known then.
func TestAllGivesNothingBackWithoutASightOfTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, interceptor.Funcs{
			Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
				return apierrors.NewForbidden(coordinationv1.Resource("leases"), key.Name, nil)
			},
		}, newBinding("ours", v1beta1.BesideFinalizer))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		var out bytes.Buffer
		err := All(ctx, c, lease, &out)
		want := "reading lease targetgate-system/targetgate-leader, to see whether targetgate runs: "
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(out.String(), "gave back") {
			t.Errorf("error %v, want %q, and no binding given back:\n%s", err, want, out.String())
		}
	})
}
