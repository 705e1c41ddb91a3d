// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/targetgate/targetgate/aws/elbv2"
	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/targets/beside"
	"github.com/targetgate/targetgate/targets/claims"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// handoverWrites stands between the registrar and the API server. What it is asked for each of the two writes that give a binding back
// is when the write is made, and when and how it is answered.
type handoverWrites struct {
	status, finalizer func(write func() error) error
	cached            *v1beta1.TargetGroupBinding // what the registrar sees of the binding, nil for what there is
}

func (b *bed) watchHandover(w *handoverWrites) {
	around := func(how func(func() error) error, o client.Object, write func() error) error {
		if _, isBinding := o.(*v1beta1.TargetGroupBinding); !isBinding || how == nil || !contains(o, v1beta1.Finalizer) && !contains(o, v1beta1.BesideFinalizer) {
			return write()
		}
		return how(write)
	}
	b.intercept(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			how := w.finalizer
			if !contains(o, v1beta1.Finalizer) {
				how = nil // it is taken
			}
			return around(how, o, func() error { return c.Patch(ctx, o, p, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return around(w.status, o, func() error { return c.SubResource(name).Patch(ctx, o, p, opts...) })
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if binding, isBinding := o.(*v1beta1.TargetGroupBinding); isBinding && w.cached != nil {
				w.cached.DeepCopyInto(binding)
				return nil
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
}

func contains(o client.Object, finalizer string) bool {
	return slices.Contains(o.GetFinalizers(), finalizer)
}

// forbidCallsForOthers fails the test when a target is registered or deregistered while the binding is not ours.
func (b *bed) forbidCallsForOthers() {
	b.aws.Before = func(_ context.Context, call fakeelbv2.Call) error {
		if (call.Operation == "RegisterTargets" || call.Operation == "DeregisterTargets") && !b.Mode.Holds(b.binding()) {
			b.t.Errorf("%s while the binding is the incumbent's", call.Operation)
		}
		return nil
	}
}

// The label is removed, and is back while the writes that give the binding back are under way.
func TestBesideEndsAsTheLabelSaysWhenItFlaps(t *testing.T) {
	noAnswer := errors.New("no answer")
	tests := map[string]func(w *handoverWrites, flapped <-chan struct{}){
		"before the first write": func(w *handoverWrites, flapped <-chan struct{}) {
			w.status = func(write func() error) error { <-flapped; return write() }
		},
		"before the first write, which fails": func(w *handoverWrites, flapped <-chan struct{}) {
			w.status = func(func() error) error { <-flapped; return noAnswer }
		},
		"between the two": func(w *handoverWrites, flapped <-chan struct{}) {
			w.finalizer = func(write func() error) error { <-flapped; return write() }
		},
		"between the two, and the second is refused": func(w *handoverWrites, flapped <-chan struct{}) {
			w.finalizer = func(func() error) error {
				<-flapped
				return apierrors.NewForbidden(corev1.Resource("targetgroupbindings"), "web", errors.New("a policy"))
			}
		},
		"between the two, and the second conflicts": func(w *handoverWrites, flapped <-chan struct{}) {
			w.finalizer = func(func() error) error {
				<-flapped
				return apierrors.NewConflict(corev1.Resource("targetgroupbindings"), "web", nil)
			}
		},
		"after the second, whose answer is late": func(w *handoverWrites, flapped <-chan struct{}) {
			w.finalizer = func(write func() error) error { defer func() { <-flapped }(); return write() }
		},
		"after the second, whose answer is lost": func(w *handoverWrites, _ <-chan struct{}) {
			w.finalizer = func(write func() error) error { return errors.Join(write(), noAnswer) }
		},
		"after the answer": func(*handoverWrites, <-chan struct{}) {},
		"before the second has its effect, of which there is no word": func(w *handoverWrites, flapped <-chan struct{}) {
			w.finalizer = func(write func() error) error {
				w.finalizer = nil
				go func() { <-flapped; _ = write() }()
				return noAnswer
			}
		},
	}
	for name, how := range tests {
		for _, stale := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", behind a stale cache"}[stale], func(t *testing.T) {
				old, young := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
				inBedBeside(t, registered, func(b *bed) {
					b.run(time.Minute, webKey)
					b.forbidCallsForOthers()
					w, flapped := &handoverWrites{}, make(chan struct{})
					how(w, flapped)
					b.watchHandover(w)
					if stale {
						w.cached = b.binding()
					}
					b.label(nil)
					b.run(100*time.Millisecond, webKey)
					b.label(registered)
					b.must(b.cluster.Create(t.Context(), young))
					b.must(b.cluster.Create(t.Context(), newSlice("web-2", young)))
					b.run(20*time.Second, webKey)
					close(flapped)
					b.run(5*time.Second, webKey)
					*w = handoverWrites{}
					b.run(3*time.Minute, webKey)
					if diff := cmp.Diff([]string{"own", v1beta1.BesideFinalizer}, b.binding().Finalizers); diff != "" {
						t.Errorf("finalizers (-want +got):\n%s", diff)
					}
					want := map[string]elbv2.State{one.String(): elbv2.StateInitial, two.String(): elbv2.StateInitial}
					if diff := cmp.Diff(want, b.targets()); diff != "" {
						t.Errorf("targets (-want +got):\n%s", diff)
					}
					if got := b.binding().Status; len(got.Conditions) == 0 || got.Targets == nil || b.ready().Status != metav1.ConditionTrue {
						t.Errorf("the status is not written again: %v", got)
					}
				}, old, newSlice("web-1", old))
			})
		}
	}
}

// A give-back that waits for calls has written nothing: the binding stays ours, and its group sends again.
func TestBesideGoesOnWhenTheLabelIsBackDuringACall(t *testing.T) {
	old, young := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
	inBedBeside(t, registered, func(b *bed) {
		answer := b.hang("RegisterTargets")
		b.run(time.Minute, webKey)
		b.label(nil)
		b.run(5*time.Second, webKey)
		b.label(registered)
		b.must(b.cluster.Create(t.Context(), young))
		b.must(b.cluster.Create(t.Context(), newSlice("web-2", young)))
		b.run(5*time.Second, webKey)
		answer(nil)
		b.run(time.Minute, webKey)
		if n := b.told("GivenBack"); n != 0 {
			t.Errorf("the binding is given back %d times, want never", n)
		}
		want := map[string]elbv2.State{one.String(): elbv2.StateInitial, two.String(): elbv2.StateInitial}
		if diff := cmp.Diff(want, b.targets()); diff != "" {
			t.Errorf("targets (-want +got):\n%s", diff)
		}
	}, old, newSlice("web-1", old))
}

// A give-back that is refused half-way has cleared the status, which says the same as before then.
func TestBesideWritesAgainWhatAGiveBackCleared(t *testing.T) {
	inBedBeside(t, registered, func(b *bed) {
		b.hang("") // so that a new group says nothing new
		b.run(beside.FenceDelay+claims.SettleDelay+10*time.Second, webKey)
		before := b.binding().Status
		b.watchHandover(&handoverWrites{finalizer: func(func() error) error {
			return apierrors.NewForbidden(corev1.Resource("targetgroupbindings"), "web", errors.New("a policy"))
		}})
		b.label(nil)
		b.run(100*time.Millisecond, webKey) // one try: two failures are told
		if got := b.binding().Status.Conditions; len(got) > 0 {
			t.Fatalf("the status is not cleared: %v", got)
		}
		b.label(registered)
		b.run(time.Second, webKey)
		if diff := cmp.Diff(before, b.binding().Status); diff != "" {
			t.Errorf("status (-before +after):\n%s", diff)
		}
	})
}

// Who begins to work beside the incumbent has worked alone, under the incumbent's finalizer: it keeps what has the label.
func TestBesideTakesOverFromAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		labels map[string]string
		want   string
	}{"with the label": {registered, v1beta1.BesideFinalizer}, "without": {nil, v1beta1.Finalizer}} {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			inBed(t, func(b *bed) {
				b.run(time.Minute, webKey)
				b.Mode = ownership.Beside
				b.begin(b.calls.Context)
				b.run(time.Minute, webKey)
				if diff := cmp.Diff([]string{tc.want}, b.binding().Finalizers); diff != "" {
					t.Errorf("finalizers (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(map[string]elbv2.State{one.String(): elbv2.StateInitial}, b.targets()); diff != "" {
					t.Errorf("targets (-want +got):\n%s", diff)
				}
			}, newNamespace("shop", tc.labels), pod, newSlice("web-1", pod))
		})
	}
}

// The incumbent may begin a pass until the API server has made the write, which may be long after it was sent.
func TestBesideSettlesFromTheAnswerOn(t *testing.T) {
	for name, lost := range map[string]bool{"the answer comes late": false, "the answer is lost": true} {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			inBedBeside(t, registered, func(b *bed) {
				const slow = 15 * time.Second
				b.intercept(interceptor.Funcs{
					Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
						time.Sleep(slow)
						err := c.Patch(ctx, o, p, opts...)
						time.Sleep(slow)
						if lost {
							return errors.New("no answer")
						}
						return err
					},
				})
				b.run(beside.FenceDelay+slow+time.Second, webKey)
				if !b.Mode.Holds(b.binding()) {
					t.Fatal("the binding is not taken")
				}
				b.run(slow+claims.SettleDelay-2*time.Second, webKey)
				if n := len(b.aws.Calls("")); n != 0 {
					t.Errorf("%d calls to AWS within %s after the answer, want none", n, claims.SettleDelay)
				}
				b.intercept(interceptor.Funcs{})
				b.run(10*time.Second, webKey)
				if n := len(b.aws.Calls("RegisterTargets")); n != 1 {
					t.Errorf("%d registrations, want one", n)
				}
			}, pod, newSlice("web-1", pod))
		})
	}
}

// What nothing can be done for is of no use to us: the incumbent may do more for it.
func TestBesideTellsWhatItLeavesToTheIncumbent(t *testing.T) {
	elsewhere := func(change ...func(*v1beta1.TargetGroupBinding)) *v1beta1.TargetGroupBinding {
		d := newDuplicate(change...)
		d.Namespace, d.Finalizers = "elsewhere", []string{v1beta1.Finalizer}
		return d
	}
	unfit := func(b *v1beta1.TargetGroupBinding) {
		b.Spec.NodeSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}
	}
	const said = "Warning NotTaken targetgate does not register the targets of this binding, although its namespace has the label targetgate.dev/register: "
	tests := map[string]struct {
		change func(*v1beta1.TargetGroupBinding)
		more   []client.Object
		mend   func(*bed)
		want   string
	}{
		"a bad selector of nodes": {
			change: unfit, want: `spec.nodeSelector: "Like" is not a valid label selector operator`,
			mend: func(b *bed) {
				b.changeSpec(func(s *v1beta1.TargetGroupBindingSpec) { s.NodeSelector = nil })
			},
		},
		"targets need server IDs": {
			change: func(b *v1beta1.TargetGroupBinding) { b.Spec.TargetGroupProtocol = ptr.To(v1beta1.Protocol("QUIC")) },
			want:   "targets of protocol QUIC need QUIC server IDs",
			mend: func(b *bed) {
				b.changeSpec(func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupProtocol = nil })
			},
		},
		"the incumbent has another binding of the group": {
			more: []client.Object{newNamespace("elsewhere", nil), elsewhere()},
			want: "aws-load-balancer-controller has TargetGroupBinding elsewhere/duplicate of the same target group. Label its namespace, too " +
				"(kubectl label namespace elsewhere targetgate.dev/register=enabled), or remove the label from this one",
			mend: func(b *bed) { b.must(b.cluster.Update(b.t.Context(), newNamespace("elsewhere", registered))) },
		},
		"the incumbent has another one, which it keeps": {
			more: []client.Object{newNamespace("elsewhere", registered), elsewhere(unfit)},
			want: `aws-load-balancer-controller has TargetGroupBinding elsewhere/duplicate of the same target group, which targetgate leaves to it: ` +
				`spec.nodeSelector: "Like" is not a valid label selector operator`,
			mend: func(b *bed) {
				b.must(b.cluster.Delete(b.t.Context(), elsewhere()))
				b.unhold("elsewhere", "duplicate")
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			inBedBeside(t, registered, func(b *bed) {
				if tc.change != nil {
					b.update(tc.change)
				}
				before := b.binding()
				for range 3 {
					b.run(time.Minute, webKey)
				}
				if diff := cmp.Diff(before, b.binding()); diff != "" {
					t.Errorf("the binding changes (-before +after):\n%s", diff)
				}
				var got []string
				for len(b.events.Events) > 0 {
					got = append(got, <-b.events.Events)
				}
				if diff := cmp.Diff([]string{said + tc.want}, got); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				tc.mend(b)
				b.run(targetgroup.RecheckPause+time.Minute, webKey)
				if !b.Mode.Holds(b.binding()) {
					t.Error("the binding is not taken when the reason is gone")
				}
			}, tc.more...)
		})
	}
}

// unhold removes the finalizers of a binding.
func (b *bed) unhold(namespace, name string) {
	b.t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	b.must(b.cluster.Patch(b.t.Context(), &v1beta1.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, patch))
}

// Of two bindings of one group both are ours, or none is.
func TestBesideGivesBackTheOtherBindingsOfTheGroup(t *testing.T) {
	before, after := newBinding(), newBinding()
	before.Finalizers, after.Finalizers = []string{v1beta1.BesideFinalizer}, []string{v1beta1.Finalizer}
	for name, tc := range map[string]struct {
		from, to *v1beta1.TargetGroupBinding
		want     bool
	}{
		"one is given back": {before, after, true}, "one is taken": {after, before, true}, "one stays ours": {before, before.DeepCopy(), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := duplicatesChanged().Update(event.UpdateEvent{ObjectOld: tc.from, ObjectNew: tc.to}); got != tc.want {
				t.Errorf("it wakes the others: %t, want %t", got, tc.want)
			}
		})
	}
}
