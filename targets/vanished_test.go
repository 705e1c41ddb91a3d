// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	fakeec2 "github.com/targetgate/targetgate/aws/ec2/fake"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// vanish takes all finalizers off the binding and deletes it, with no pass between. It returns the last that a watch shows of it.
func (b *bed) vanish() *v1beta1.TargetGroupBinding {
	b.t.Helper()
	binding := b.binding()
	binding.Finalizers = nil
	b.must(b.cluster.Update(b.t.Context(), binding))
	if binding.DeletionTimestamp.IsZero() {
		b.must(b.cluster.Delete(b.t.Context(), binding))
	}
	return binding
}

// serving has the pod's target in the group, healthy.
func (b *bed) serving() {
	b.t.Helper()
	b.settle()
	b.aws.SetHealth(testARN, one, healthy)
	b.after(elbv2.SettleTime + time.Second)
}

// Rule 33: a binding that was deleted without our finalizer is cleaned up as if that had been there, whatever else happens meanwhile.
func TestABindingThatVanishesIsCleanedUp(t *testing.T) {
	for name, do := range map[string]func(b *bed){
		"replaced and deleted": func(b *bed) { b.vanish() },
		"seen without the finalizer, which cannot be put back": func(b *bed) {
			b.kube.Client = noPatches{b.own}
			binding := b.binding()
			binding.Finalizers = nil
			b.must(b.cluster.Update(b.t.Context(), binding))
			b.settle()
			b.must(b.cluster.Delete(b.t.Context(), binding))
		},
		"the finalizer is taken off while AWS does not answer": func(b *bed) {
			b.must(b.cluster.Delete(b.t.Context(), b.binding()))
			failOn(b, "DeregisterTargets")
			b.settle()
			b.vanish()
			b.settle()
			b.aws.Before = nil
		},
		"AWS does not answer for a while": func(b *bed) {
			failOn(b, "DeregisterTargets")
			b.vanish()
			b.settle()
			b.aws.Before = nil
		},
		"the next one of its name has another group": func(b *bed) {
			b.vanish()
			other := newBinding()
			other.UID, other.Spec.TargetGroupARN = "another", testARN+"2"
			b.must(b.cluster.Create(b.t.Context(), other))
		},
		"the finalizer is put back while the API server deletes it": func(b *bed) {
			b.bindings.toldOfEnds = true
			last := b.binding()
			b.vanish()
			b.bindings.notesEnds().Delete(event.DeleteEvent{Object: last})
		},
		"its Service and its pods go, too": func(b *bed) {
			b.vanish()
			b.must(b.cluster.Delete(b.t.Context(), newService()))
			b.must(b.cluster.Delete(b.t.Context(), newPod("web-0", "10.0.0.1")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			inBed(t, func(b *bed) {
				b.serving()
				do(b)
				b.settle()
				b.after(time.Minute)
				if state := b.targets()[one.String()]; state == elbv2.StateHealthy {
					t.Errorf("the target is %s, want it deregistered", state)
				}
				calls := len(b.aws.Calls("DeregisterTargets"))
				b.after(time.Hour)
				if n := len(b.aws.Calls("DeregisterTargets")); n != calls || len(b.bindings.vanished) > 0 {
					t.Errorf("%d calls more, %d bindings remembered, want none", n-calls, len(b.bindings.vanished))
				}
			}, pod, newSlice("web-1", pod))
		})
	}
}

// noPatches is a client that may not write finalizers.
type noPatches struct{ client.Client }

func (noPatches) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return apierrors.NewForbidden(v1beta1.GroupVersion.WithResource("targetgroupbindings").GroupResource(), "web", nil)
}

// Of a group that others share its own targets go, and the record.
func TestABindingOfASharedGroupThatVanishesTakesItsOwn(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inSharedBed(t, func(b *bed) {
		b.serving()
		b.vanish()
		b.settle()
		b.after(time.Minute)
		if state := b.targets()[one.String()]; state != elbv2.StateDraining {
			t.Errorf("its target is %q, want it draining", state)
		}
		key := client.ObjectKey{Namespace: "shop", Name: "aws-lbc-targets-web"}
		if err := b.cluster.Get(t.Context(), key, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
			t.Errorf("reading the record: %v, want it gone", err)
		}
	}, pod, newSlice("web-1", pod))
}

// Its inbound rules go, too.
func TestTheRulesOfABindingThatVanishesGo(t *testing.T) {
	pod := podOnNode("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		api := b.withRules()
		b.changeSpec(askForRule)
		b.run(10*time.Second, webKey)
		b.hasRules(api, "before", wantedRule)
		b.vanish()
		b.run(time.Minute, webKey)
		b.hasRules(api, "after it has vanished")
		if len(b.registered())+len(b.bindings.vanished) > 0 {
			t.Errorf("%v are registered, %d bindings remembered, want none", b.registered(), len(b.bindings.vanished))
		}
	}, pod, newSlice("web-1", pod))
}

// A rule that cannot be removed is waited for no longer than by a binding that is being deleted.
func TestABindingThatVanishesIsForgottenWithoutItsRulesInTheEnd(t *testing.T) {
	pod := podOnNode("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		api := b.withRules()
		b.changeSpec(askForRule)
		b.run(10*time.Second, webKey)
		api.Before = func(_ context.Context, call fakeec2.Call) error {
			if call.Operation == "RevokeSecurityGroupIngress" {
				return errors.New("no answer")
			}
			return nil
		}
		b.vanish()
		b.run(20*time.Second, webKey)
		if len(b.bindings.vanished) == 0 {
			t.Error("it is forgotten at once, want its rules to be tried for a while")
		}
		b.run(time.Minute, webKey)
		if told := b.told("SecurityGroupRulesLeft"); told != 1 || len(b.bindings.vanished) > 0 {
			t.Errorf("told %d times, %d bindings remembered, want one event and none", told, len(b.bindings.vanished))
		}
	}, pod, newSlice("web-1", pod))
}

// The next binding of its name keeps its rules.
func TestTheRulesOfTheNextBindingStay(t *testing.T) {
	pod := podOnNode("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		api := b.withRules()
		b.changeSpec(askForRule)
		b.run(10*time.Second, webKey)
		next := newBinding()
		next.UID, next.Spec.TargetGroupARN = "another", testARN+"2"
		askForRule(&next.Spec)
		second := testGroup()
		second.TargetGroupArn = &next.Spec.TargetGroupARN
		b.aws.AddGroup(second)
		b.vanish()
		b.must(b.cluster.Create(b.t.Context(), next))
		b.run(time.Minute, webKey)
		b.hasRules(api, "of the next one", wantedRule)
		if len(b.bindings.vanished) > 0 || len(b.registered()) > 0 {
			t.Errorf("%d bindings remembered, %v registered in the former group, want none", len(b.bindings.vanished), b.registered())
		}
	}, pod, newSlice("web-1", pod))
}

// What nobody asks us to clean up stays: the targets of a binding that another one follows, that never was ours, that we have cleaned up
// already, or that was lost with the API server's data.
func TestTheTargetsOfABindingThatVanishesStay(t *testing.T) {
	successor := func() *v1beta1.TargetGroupBinding {
		next := newBinding()
		next.UID = "another"
		return next
	}
	for name, tc := range map[string]struct {
		do   func(b *bed)
		told int // of BindingLost
	}{
		"the next one of its name has its group": {do: func(b *bed) {
			b.vanish()
			b.must(b.cluster.Create(b.t.Context(), successor()))
		}},
		"another one has its group": {do: func(b *bed) {
			next := successor()
			next.Name = "next"
			b.must(b.cluster.Create(b.t.Context(), next))
			b.vanish()
		}},
		"it is lost": {told: 1, do: func(b *bed) {
			b.bindings.toldOfEnds = true
			last := b.binding()
			b.vanish()
			b.bindings.notesEnds().Delete(event.DeleteEvent{Object: last, DeleteStateUnknown: true})
		}},
		"it is lost, and restored with another UID and group": {told: 1, do: func(b *bed) {
			b.bindings.toldOfEnds = true
			last, restored := b.binding(), successor()
			b.vanish()
			restored.Spec.TargetGroupARN = testARN + "2"
			b.must(b.cluster.Create(b.t.Context(), restored))
			b.bindings.notesEnds().Update(event.UpdateEvent{ObjectOld: last, ObjectNew: restored})
		}},
		"nobody has told yet how it went": {do: func(b *bed) {
			b.bindings.toldOfEnds = true
			b.vanish()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			inBed(t, func(b *bed) {
				b.serving()
				tc.do(b)
				b.settle()
				b.after(time.Minute)
				if n := len(b.aws.Calls("DeregisterTargets")); n > 0 || b.targets()[one.String()] != elbv2.StateHealthy {
					t.Errorf("%d calls, targets %v, want the target to stay", n, b.targets())
				}
				if told := b.told("BindingLost"); told != tc.told {
					t.Errorf("told of a lost binding %d times, want %d", told, tc.told)
				}
			}, pod, newSlice("web-1", pod))
		})
	}
}

func TestABindingIsCleanedUpWhenTheWatchHasTold(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.bindings.toldOfEnds = true
		b.serving()
		last := b.vanish()
		if result := b.settle(); result.RequeueAfter != endPause {
			t.Errorf("next pass in %v, want it in %v", result.RequeueAfter, endPause)
		}
		b.bindings.notesEnds().Delete(event.DeleteEvent{Object: last})
		b.settle()
		if state := b.targets()[one.String()]; state != elbv2.StateDraining {
			t.Errorf("the target is %q, want it draining", state)
		}
	}, pod, newSlice("web-1", pod))
}

// A binding that goes by its finalizer is done once, and one that never had it not at all.
func TestABindingThatDidNotVanishIsNotCleanedUpTwice(t *testing.T) {
	for name, do := range map[string]func(b *bed){
		"finalized": func(b *bed) {
			b.serving()
			b.must(b.cluster.Delete(b.t.Context(), b.binding()))
			for range 100 {
				if b.cluster.Get(b.t.Context(), webKey, newBinding()) != nil {
					break
				}
				b.pass()
			}
			if b.pass(); len(b.bindings.vanished) > 0 {
				b.t.Error("it counts as vanished")
			}
		},
		"never ours": func(b *bed) {
			b.kube.Client = noPatches{b.own}
			b.aws.SetHealth(testARN, foreign, healthy)
			b.settle()
			b.must(b.cluster.Delete(b.t.Context(), b.binding()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			inBed(t, func(b *bed) {
				do(b)
				calls := len(b.aws.Calls("DeregisterTargets"))
				b.settle()
				b.after(time.Hour)
				if n := len(b.aws.Calls("DeregisterTargets")); n != calls || len(b.bindings.vanished) > 0 {
					t.Errorf("%d calls more, %d bindings remembered, want none", n-calls, len(b.bindings.vanished))
				}
			}, pod, newSlice("web-1", pod))
		})
	}
}
