// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/beside"
	"github.com/targetgate/targetgate/targets/claims"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

var registered = map[string]string{ownership.RegisterLabel: ownership.Enabled, "team": "shop"}

func newNamespace(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: maps.Clone(labels)}}
}

// inBedBeside is inBed beside the incumbent, which has worked on the binding. The namespace has the labels.
func inBedBeside(t *testing.T, labels map[string]string, test func(b *bed), more ...client.Object) {
	t.Helper()
	inBed(t, func(b *bed) {
		b.Mode = ownership.Beside
		b.begin(b.calls.Context)
		b.update(func(binding *v1beta1.TargetGroupBinding) {
			binding.Finalizers = []string{"own", v1beta1.Finalizer}
			binding.Labels = map[string]string{"ingress.k8s.aws/stack": "shop"}
			binding.Annotations = map[string]string{v1beta1.CheckpointAnnotation: "a/b", v1beta1.CheckpointTimestampAnnotation: "1", "own": "stays"}
		})
		test(b)
	}, append([]client.Object{newNamespace("shop", labels)}, more...)...)
}

func (b *bed) update(change func(*v1beta1.TargetGroupBinding)) {
	b.t.Helper()
	binding := b.binding()
	change(binding)
	b.must(b.cluster.Update(b.t.Context(), binding))
}

// label sets the namespace's labels.
func (b *bed) label(labels map[string]string) {
	b.t.Helper()
	var ns corev1.Namespace
	b.must(b.cluster.Get(b.t.Context(), client.ObjectKey{Name: "shop"}, &ns))
	ns.Labels = maps.Clone(labels)
	b.must(b.cluster.Update(b.t.Context(), &ns))
}

// countWrites calls done for each of the registrar's writes to the API server, before it. Those that done refuses fail.
func (b *bed) countWrites(done func(what string) error) {
	kind := func(o any) string {
		switch o := o.(type) {
		case *v1beta1.TargetGroupBinding:
			return "binding " + o.Name
		default:
			return "other"
		}
	}
	refuse := func(o any) error { return done(kind(o)) }
	b.intercept(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := refuse(o); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
		Update: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.UpdateOption) error {
			return refuse(o)
		},
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			return refuse(o)
		},
		Delete: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.DeleteOption) error {
			return refuse(o)
		},
		Apply: func(_ context.Context, _ client.WithWatch, o runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
			return refuse(o)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := done("status of " + kind(o)); err != nil {
				return err
			}
			return c.SubResource(name).Patch(ctx, o, p, opts...)
		},
	})
}

func TestBesideTakesBindingOnceTheFenceStands(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBedBeside(t, registered, func(b *bed) {
		before := b.binding()
		b.run(beside.FenceDelay-time.Second, webKey)
		if diff := cmp.Diff(before, b.binding()); diff != "" || len(b.aws.Calls("")) != 0 {
			t.Fatalf("before the fence stands %d calls, and the binding changes (-before +after):\n%s", len(b.aws.Calls("")), diff)
		}
		b.run(2 * time.Second)
		if diff := cmp.Diff([]string{"own", v1beta1.BesideFinalizer}, b.binding().Finalizers); diff != "" {
			t.Fatalf("finalizers (-want +got):\n%s", diff)
		}
		b.update(func(binding *v1beta1.TargetGroupBinding) { // the end of a pass of the incumbent
			binding.Annotations[v1beta1.CheckpointAnnotation] = "c/d"
		})
		b.run(claims.SettleDelay-2*time.Second, webKey)
		if n := len(b.aws.Calls("")); n != 0 {
			t.Errorf("%d calls to AWS while a pass of the incumbent may be under way, want none", n)
		}
		b.observes("while a pass of the incumbent may be under way", 1)
		b.run(10 * time.Second)
		after := b.binding()
		if diff := cmp.Diff(before.Labels, after.Labels); diff != "" {
			t.Errorf("labels (-before +after):\n%s", diff)
		}
		want := map[string]string{v1beta1.CheckpointAnnotation: "c/d", v1beta1.CheckpointTimestampAnnotation: "1", "own": "stays"}
		if diff := cmp.Diff(want, after.Annotations); diff != "" {
			t.Errorf("annotations (-want +got):\n%s", diff)
		}
		if n := len(b.aws.Calls("RegisterTargets")); n != 1 || b.degraded().Status != metav1.ConditionFalse {
			t.Errorf("%d registrations and Degraded %s, want one and False", n, b.degraded().Status)
		}
	}, pod, newSlice("web-1", pod))
}

// Nobody else can have begun a pass over a binding without a finalizer, so there is nothing to wait for but the fence.
func TestBesideRegistersNewBindingAtOnce(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBedBeside(t, registered, func(b *bed) {
		b.update(func(binding *v1beta1.TargetGroupBinding) { binding.Finalizers, binding.Annotations = nil, nil })
		if registered, err := b.beside.IsRegistered(b.t.Context(), "shop"); !registered || err != nil {
			t.Fatalf("registered %t, error %v", registered, err)
		}
		time.Sleep(beside.FenceDelay)
		b.run(time.Second, webKey)
		if diff := cmp.Diff([]string{v1beta1.BesideFinalizer}, b.binding().Finalizers); diff != "" {
			t.Errorf("finalizers (-want +got):\n%s", diff)
		}
		if n := len(b.aws.Calls("RegisterTargets")); n != 1 {
			t.Errorf("%d registrations within a second, want one", n)
		}
	}, pod, newSlice("web-1", pod))
}

func TestBesideTouchesNothingOfOthers(t *testing.T) {
	other := func(change ...func(*v1beta1.TargetGroupBinding)) client.Object {
		d := newDuplicate(change...)
		d.Namespace, d.Finalizers = "elsewhere", []string{v1beta1.Finalizer}
		d.CreationTimestamp = metav1.NewTime(noon.AddDate(1, 0, 0))
		return d
	}
	tests := map[string]struct {
		labels map[string]string
		change func(*bed)
		more   []client.Object
		told   int
	}{
		"the namespace has no label":        {},
		"the label says something else":     {labels: map[string]string{ownership.RegisterLabel: "disabled"}},
		"the namespace is only protected":   {labels: map[string]string{ownership.ProtectLabel: ownership.Enabled}},
		"the namespace asks only for gates": {labels: map[string]string{"elbv2.k8s.aws/pod-readiness-gate-inject": "enabled"}},
		"the binding has no finalizer and no label": {change: func(b *bed) {
			b.update(func(binding *v1beta1.TargetGroupBinding) { binding.Finalizers = nil })
		}},
		"the binding is gone and its pod waits": {change: func(b *bed) {
			b.update(func(binding *v1beta1.TargetGroupBinding) { binding.Finalizers = nil })
			b.must(b.cluster.Delete(b.t.Context(), b.binding()))
		}},
		"targets need server IDs": {labels: registered, told: 1, change: func(b *bed) {
			b.changeSpec(func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupProtocol = ptr.To(v1beta1.Protocol("QUIC")) })
		}},
		"the binding is not complete": {labels: registered, told: 1, change: func(b *bed) {
			b.changeSpec(func(s *v1beta1.TargetGroupBindingSpec) { s.TargetType = nil })
		}},
		"the incumbent has another binding of the group": {
			labels: registered, told: 1, more: []client.Object{newNamespace("elsewhere", nil), other()},
		},
		"the binding is being deleted": {labels: registered, change: func(b *bed) {
			b.must(b.cluster.Delete(b.t.Context(), b.binding()))
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			inBedBeside(t, tc.labels, func(b *bed) {
				if tc.change != nil {
					tc.change(b)
				}
				b.aws.SetHealth(testARN, two, healthy) // which nothing explains
				var writes []string
				b.countWrites(func(what string) error { writes = append(writes, what); return nil })
				for range 10 {
					b.run(time.Minute, webKey)
				}
				if len(writes) > 0 || len(b.aws.Calls("")) > 0 || len(b.events.Events) != tc.told {
					t.Errorf("writes %q, %d calls to AWS, want none; %d events, want %d", writes, len(b.aws.Calls("")), len(b.events.Events), tc.told)
				}
				if b.bindings.find(webKey) != nil {
					t.Error("the binding is remembered")
				}
			}, append(tc.more, pod, newSlice("web-1", pod))...)
		})
	}
}

// Without the right to its record nothing could be registered: the incumbent, which has it, keeps the binding.
func TestBesideLeavesSharedGroupWithoutRightToItsRecord(t *testing.T) {
	inBedBeside(t, registered, func(b *bed) {
		b.update(func(binding *v1beta1.TargetGroupBinding) { binding.Spec.MultiClusterTargetGroup = true })
		b.api.Reader = interceptor.NewClient(b.cluster.(client.WithWatch), interceptor.Funcs{
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return apierrors.NewForbidden(corev1.Resource("configmaps"), "web", errors.New("no role"))
			},
		})
		b.run(time.Minute, webKey)
		if b.Mode.Holds(b.binding()) || b.told("NotTaken") != 1 {
			t.Error("the binding is taken, or nobody is told once why it is not")
		}
		b.api.Reader = b.cluster
		b.run(time.Hour)
		if !b.Mode.Holds(b.binding()) {
			t.Error("the binding is not taken when there is a right")
		}
	})
}

func TestBesideGivesBackAndTakesAgain(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBedBeside(t, registered, func(b *bed) {
		b.run(time.Minute, webKey)
		b.aws.SetHealth(testARN, one, healthy)
		b.run(time.Minute)
		spec := b.binding().Spec
		b.label(nil)
		b.run(5*time.Second, webKey)
		got := b.binding()
		if diff := cmp.Diff([]string{"own", v1beta1.Finalizer}, got.Finalizers); diff != "" {
			t.Errorf("finalizers (-want +got):\n%s", diff)
		}
		want := map[string]string{v1beta1.CheckpointAnnotation: "", v1beta1.CheckpointTimestampAnnotation: "1", "own": "stays"}
		if diff := cmp.Diff(want, got.Annotations); diff != "" {
			t.Errorf("annotations (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(spec, got.Spec); diff != "" || len(got.Status.Conditions) != 0 || got.Status.Pods != nil {
			t.Errorf("spec (-before +after):\n%s and status %v", diff, got.Status)
		}
		if b.bindings.find(webKey) != nil || b.told("GivenBack") != 1 {
			t.Error("the binding is remembered, or nobody is told that it was given back")
		}
		b.must(b.cluster.Delete(t.Context(), pod))
		b.must(b.cluster.Delete(t.Context(), newSlice("web-1")))
		b.run(time.Minute, webKey)
		if calls := b.aws.Calls("DeregisterTargets"); len(calls) != 0 {
			t.Errorf("calls %v, want none", calls)
		}
		b.label(registered)
		b.run(beside.FenceDelay-time.Second, webKey)
		if b.Mode.Holds(b.binding()) {
			t.Error("the binding is taken again before the fence stands again")
		}
		b.run(3*testDrift, webKey)
		if diff := cmp.Diff([]string{"own", v1beta1.BesideFinalizer}, b.binding().Finalizers); diff != "" {
			t.Errorf("finalizers when the label is back (-want +got):\n%s", diff)
		}
		if got := b.targets()[one.String()]; got != elbv2.StateDraining {
			t.Errorf("the target of the pod that went meanwhile is %q, want draining", got)
		}
	}, pod, newSlice("web-1", pod))
}

// What waits for an answer of AWS may still have its effect: the incumbent begins after that.
func TestBesideGivesBackWhenCallsHaveEnded(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBedBeside(t, registered, func(b *bed) {
		answer := b.hang("RegisterTargets")
		b.run(time.Minute, webKey)
		b.label(nil)
		b.run(5*time.Second, webKey)
		if !b.Mode.Holds(b.binding()) {
			t.Error("the binding is given back during a registration")
		}
		answer(nil)
		b.run(5 * time.Second)
		if b.Mode.Holds(b.binding()) {
			t.Error("the binding is not given back")
		}
	}, pod, newSlice("web-1", pod))
}

// The group is retired then, and known anew at each pass; the pause is not.
func TestBesidePausesAfterARefusal(t *testing.T) {
	inBedBeside(t, registered, func(b *bed) {
		b.run(time.Minute, webKey)
		b.label(nil)
		tries := 0
		b.countWrites(func(string) error {
			if tries++; tries > 100 {
				t.Fatal("it tries again without a pause")
			}
			return errors.New("a webhook does not answer")
		})
		b.run(time.Minute, webKey)
		if tries < 3 {
			t.Errorf("%d tries in a minute, want more", tries)
		}
	})
}

func TestBesideFinishesDeletion(t *testing.T) {
	for name, labels := range map[string]map[string]string{"registered": registered, "no longer registered": nil} {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			inBedBeside(t, registered, func(b *bed) {
				b.run(time.Minute, webKey)
				b.must(b.cluster.Delete(t.Context(), b.binding()))
				b.label(labels)
				b.run(5*time.Second, webKey)
				if diff := cmp.Diff([]string{"own"}, b.binding().Finalizers); diff != "" {
					t.Errorf("finalizers (-want +got):\n%s", diff)
				}
				if got := b.targets()[one.String()]; got != elbv2.StateDraining {
					t.Errorf("the target is %q, want draining", got)
				}
				if got, want := b.condition("web-0"), "True TargetGroupBindingDeleted"; got != want {
					t.Errorf("condition %q, want %q", got, want)
				}
			}, pod, newSlice("web-1", pod))
		})
	}
}

// The API server takes the first writes of a process, which is then killed. The next process ends where one that lives does.
func TestBesideConvergesAfterKillBetweenWrites(t *testing.T) {
	type end struct {
		finalizers []string
		target     elbv2.State
	}
	steps := map[string]struct {
		do   func(*bed)
		want end
	}{
		"take": {func(*bed) {}, end{[]string{"own", v1beta1.BesideFinalizer}, elbv2.StateInitial}},
		"give back": {func(b *bed) { b.run(time.Minute, webKey); b.label(nil) },
			end{[]string{"own", v1beta1.Finalizer}, elbv2.StateInitial}},
		"delete": {func(b *bed) { b.run(time.Minute, webKey); b.must(b.cluster.Delete(b.t.Context(), b.binding())) },
			end{[]string{"own"}, elbv2.StateDraining}},
	}
	for name, step := range steps {
		for kill := range 5 {
			t.Run(name, func(t *testing.T) {
				pod := newPod("web-0", "10.0.0.1")
				inBedBeside(t, registered, func(b *bed) {
					step.do(b)
					left := kill
					b.countWrites(func(string) error {
						if left--; left < 0 {
							return errors.New("killed")
						}
						return nil
					})
					b.run(30*time.Second, webKey)
					b.intercept(interceptor.Funcs{})
					b.begin(b.calls.Context)
					b.run(2*time.Minute, webKey)
					got := end{b.binding().Finalizers, b.targets()[one.String()]}
					if diff := cmp.Diff(step.want, got, cmp.AllowUnexported(end{})); diff != "" {
						t.Errorf("killed after %d writes (-want +got):\n%s", kill, diff)
					}
				}, pod, newSlice("web-1", pod))
			})
		}
	}
}

func TestBesideStopsWhileTwoControllersWork(t *testing.T) {
	checkpoint := func(b *bed) {
		b.update(func(binding *v1beta1.TargetGroupBinding) { binding.Annotations[v1beta1.CheckpointAnnotation] += "." })
	}
	tests := map[string]func(*bed){
		"the incumbent writes a checkpoint": checkpoint,
		"the incumbent adds its finalizer": func(b *bed) {
			b.update(func(binding *v1beta1.TargetGroupBinding) {
				binding.Finalizers = append(binding.Finalizers, v1beta1.Finalizer)
			})
		},
	}
	for name, work := range tests {
		t.Run(name, func(t *testing.T) {
			old, young := withFinalizer(newPod("web-0", "10.0.0.1")), newPod("web-1", "10.0.0.2")
			inBedBeside(t, registered, func(b *bed) {
				b.run(time.Minute, webKey)
				b.told("")
				work(b)
				b.must(b.cluster.Delete(t.Context(), old))
				b.must(b.cluster.Create(t.Context(), young))
				b.must(b.cluster.Create(t.Context(), newSlice("web-2", young)))
				calls := len(b.aws.Calls("RegisterTargets")) + len(b.aws.Calls("DeregisterTargets"))
				for range 3 {
					b.run(beside.QuietTime-time.Second, webKey)
					checkpoint(b)
				}
				for _, c := range []*metav1.Condition{b.ready(), b.degraded()} {
					if c.Reason != v1beta1.ReasonTwoControllers {
						t.Errorf("%s is %s, %s", c.Type, c.Status, c.Reason)
					}
				}
				if n := b.told(v1beta1.ReasonTwoControllers); n != 1 {
					t.Errorf("told %d times, want once", n)
				}
				if n := len(b.aws.Calls("RegisterTargets")) + len(b.aws.Calls("DeregisterTargets")); n != calls {
					t.Errorf("%d calls while the incumbent works on the binding, want none", n-calls)
				}
				b.run(2*beside.QuietTime, webKey)
				want := map[string]elbv2.State{one.String(): elbv2.StateDraining, two.String(): elbv2.StateInitial}
				if diff := cmp.Diff(want, b.targets()); diff != "" {
					t.Errorf("targets when the incumbent has stopped (-want +got):\n%s", diff)
				}
				if b.degraded().Status != metav1.ConditionFalse || slices.Contains(b.binding().Finalizers, v1beta1.Finalizer) {
					t.Errorf("Degraded is %s, finalizers %q", b.degraded().Reason, b.binding().Finalizers)
				}
			}, old, newSlice("web-1", old))
		})
	}
}

// What the incumbent did meanwhile is read before anything is done again.
func TestBesideReadsTheGroupAfterTwoControllersWorked(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBedBeside(t, registered, func(b *bed) {
		b.run(time.Minute, webKey)
		b.aws.SetHealth(testARN, one, healthy)
		b.run(time.Minute)
		b.update(func(binding *v1beta1.TargetGroupBinding) { binding.Annotations[v1beta1.CheckpointAnnotation] = "c/d" })
		b.run(time.Second, webKey)
		b.aws.Forget(testARN, one)
		b.run(beside.QuietTime + 5*time.Second)
		if got := b.targets()[one.String()]; got != elbv2.StateInitial {
			t.Errorf("the target that the incumbent deregistered is %q, want it registered again", got)
		}
	}, pod, newSlice("web-1", pod))
}

func TestBesideObservesGenerationBeforeAWSAnswers(t *testing.T) {
	for name, shared := range map[string]bool{"own group": false, "shared group, whose record is believed by it": true} {
		t.Run(name, func(t *testing.T) {
			inBedBeside(t, registered, func(b *bed) {
				b.update(func(binding *v1beta1.TargetGroupBinding) { binding.Spec.MultiClusterTargetGroup = shared })
				b.hang("")
				b.run(time.Minute, webKey)
				want := int64(1)
				if shared {
					want = -1
				}
				b.observes("while AWS does not answer", want)
			})
		})
	}
}

// Whoever stops working beside the incumbent, which is gone then, finishes what was begun.
func TestAloneTakesOverFromBeside(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBedBeside(t, registered, func(b *bed) {
		b.run(time.Minute, webKey)
		b.Mode = ownership.Alone
		b.begin(b.calls.Context)
		b.run(time.Minute, webKey)
		if diff := cmp.Diff([]string{"own", v1beta1.Finalizer}, b.binding().Finalizers); diff != "" {
			t.Errorf("finalizers (-want +got):\n%s", diff)
		}
		b.update(func(binding *v1beta1.TargetGroupBinding) { binding.Finalizers = []string{v1beta1.BesideFinalizer} })
		b.must(b.cluster.Delete(t.Context(), b.binding()))
		b.run(time.Minute, webKey)
		if err := b.cluster.Get(t.Context(), webKey, &v1beta1.TargetGroupBinding{}); !apierrors.IsNotFound(err) {
			t.Errorf("getting the deleted binding: %v, want not found", err)
		}
	}, pod, newSlice("web-1", pod))
}

func TestNewBindingIsKnownByEitherFinalizer(t *testing.T) {
	for finalizer, isNew := range map[string]bool{v1beta1.Finalizer: false, v1beta1.BesideFinalizer: false, "own": true} {
		binding := newBinding()
		binding.Finalizers = []string{finalizer}
		group := targetgroup.New(binding, targetgroup.NewSubnets(), noon)
		if got := !group.Snapshot().NewTill.IsZero(); got != isNew {
			t.Errorf("with finalizer %s the binding is new: %t, want %t", finalizer, got, isNew)
		}
	}
}
