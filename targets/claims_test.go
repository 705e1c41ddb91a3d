// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/targetgate/targetgate/aws/elbv2"
	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// refuseFinalizers has the API server refuse changes of bindings, but for those of their statuses.
var refuseFinalizers = interceptor.Funcs{
	Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
		return errors.New("a webhook does not answer")
	},
}

func TestWhatCannotBeClaimedIsTold(t *testing.T) {
	tests := map[string]struct {
		refuse interceptor.Funcs
		shared bool
		want   string
	}{
		"finalizer": {refuse: refuseFinalizers, want: "adding finalizer: a webhook does not answer"},
		"record": {shared: true, want: "writing the record of our targets: forbidden", refuse: interceptor.Funcs{
			Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
				return errors.New("forbidden")
			},
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			inBed(t, func(b *bed) {
				binding := b.binding()
				binding.Spec.MultiClusterTargetGroup = tc.shared
				b.must(b.cluster.Update(t.Context(), binding))
				b.intercept(tc.refuse)
				b.run(10*time.Minute, webKey)
				for _, c := range []string{v1beta1.ConditionReady, v1beta1.ConditionDegraded} {
					got := b.bindingCondition(c)
					bad := (c == v1beta1.ConditionDegraded) == (got.Status == "True")
					if !bad || got.Reason != v1beta1.ReasonKubernetesError || !strings.Contains(got.Message, tc.want) {
						t.Errorf("%s is %s, %s: %s", c, got.Status, got.Reason, got.Message)
					}
				}
				if got, want := b.condition("web-0"), "False "+readiness.ReasonRegistrationFailed; got != want {
					t.Errorf("condition %q, want %q", got, want)
				}
				if n := len(b.aws.Calls("RegisterTargets")); n != 0 {
					t.Errorf("%d registrations, want none", n)
				}
				b.intercept(interceptor.Funcs{})
				b.run(time.Minute)
				if n := len(b.aws.Calls("RegisterTargets")); n != 1 {
					t.Errorf("%d registrations when the API server takes the write, want one", n)
				}
			}, pod, newSlice("web-1", pod))
		})
	}
}

// One write that takes its time is no failure yet, but the targets that wait for it are not registered.
func TestStatusIsNotReadyWhileTargetsWaitForAClaim(t *testing.T) {
	old, young := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
	inSharedBed(t, func(b *bed) {
		b.run(time.Minute, webKey)
		if c := b.ready(); c.Status != "True" {
			t.Fatalf("Ready is %s, %s: %s", c.Status, c.Reason, c.Message)
		}
		b.intercept(interceptor.Funcs{
			Apply: func(ctx context.Context, _ client.WithWatch, _ runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
				<-ctx.Done()
				return ctx.Err()
			},
		})
		b.must(b.cluster.Create(t.Context(), young))
		b.must(b.cluster.Create(t.Context(), newSlice("web-2", young)))
		b.run(2*targetgroup.Brief, webKey)
		if c := b.ready(); c.Status != "False" || c.Reason != v1beta1.ReasonReconciling {
			t.Errorf("Ready is %s, %s while a target waits for its record, want False, %s", c.Status, c.Reason, v1beta1.ReasonReconciling)
		}
	}, old, newSlice("web-1", old))
}

// Rule 5: a pod that leaves waits for no write to the API server.
func TestDeregistrationWaitsForNoClaim(t *testing.T) {
	old, young := withFinalizer(newPod("web-0", "10.0.0.1")), newPod("web-1", "10.0.0.2")
	inSharedBed(t, func(b *bed) {
		b.run(time.Minute, webKey)
		b.intercept(interceptor.Funcs{
			Apply: func(ctx context.Context, _ client.WithWatch, _ runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
				<-ctx.Done()
				return ctx.Err()
			},
		})
		b.must(b.cluster.Create(t.Context(), young))
		b.must(b.cluster.Create(t.Context(), newSlice("web-2", young)))
		b.run(2*time.Second, webKey)
		b.must(b.cluster.Delete(t.Context(), old))
		b.run(time.Second, webKey)
		if got := b.targets()[one.String()]; got != elbv2.StateDraining {
			t.Errorf("a second after its deletion the pod's target is %q, want draining", got)
		}
	}, old, newSlice("web-1", old))
}

// Gates that are opened for a binding that goes take no pass's time.
func TestDeletionWaitsForNoGate(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.run(time.Minute, webKey)
		slow := interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, _ client.Client, _ string, o client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
				if _, isPod := o.(*corev1.Pod); isPod {
					<-ctx.Done()
				}
				return ctx.Err()
			},
		}
		b.intercept(slow)
		b.must(b.cluster.Delete(t.Context(), b.binding()))
		began := time.Now()
		b.watch()
		b.look(webKey)
		if took := time.Since(began); took > 0 {
			t.Errorf("the pass takes %s", took)
		}
		b.run(2 * time.Second)
		if err := b.cluster.Get(t.Context(), webKey, &v1beta1.TargetGroupBinding{}); !apierrors.IsNotFound(err) {
			t.Errorf("getting the deleted binding: %v, want not found", err)
		}
		b.intercept(interceptor.Funcs{})
		b.run(time.Minute, webKey)
		if got, want := b.condition("web-0"), "True TargetGroupBindingDeleted"; got != want {
			t.Errorf("condition %q, want %q", got, want)
		}
	}, pod, newSlice("web-1", pod))
}

// Nobody can deregister from a group that AWS does not know by that ARN, in this account and Region.
func TestDeletionOfBindingWithInvalidARNEnds(t *testing.T) {
	invalid := func(_ context.Context, call fakeelbv2.Call) error {
		return &smithy.GenericAPIError{Code: "ValidationError", Message: "'" + call.Group + "' is not a valid target group ARN"}
	}
	for name, before := range map[string]time.Duration{"never read": 0, "read before": time.Minute} {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			inBed(t, func(b *bed) {
				if before > 0 {
					b.run(before, webKey)
				}
				b.aws.Before = invalid
				b.run(time.Minute, webKey)
				b.must(b.cluster.Delete(t.Context(), b.binding()))
				b.told("")
				b.run(2*time.Minute, webKey)
				if err := b.cluster.Get(t.Context(), webKey, &v1beta1.TargetGroupBinding{}); !apierrors.IsNotFound(err) {
					t.Errorf("getting the deleted binding: %v, want not found", err)
				}
				if n := b.told("FailedCleanup"); n != 1 {
					t.Errorf("told %d times what may be left, want once", n)
				}
			}, pod, newSlice("web-1", pod))
		})
	}
}

// The role that the incumbent's guide describes may not read the attributes of a group.
func TestFactsWithoutDeregistrationDelay(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		asked := 0
		b.aws.Before = func(_ context.Context, call fakeelbv2.Call) error {
			if call.Operation == "DescribeTargetGroupAttributes" {
				asked++
				return &smithy.GenericAPIError{Code: "AccessDenied", Message: "not authorized"}
			}
			return nil
		}
		b.run(time.Hour, webKey)
		want := &v1beta1.TargetGroupSettings{
			Protocol: "HTTP", LoadBalancers: 1,
			HealthCheck: v1beta1.HealthCheckSettings{IntervalSeconds: 10, TimeoutSeconds: 5, UnhealthyThreshold: 2},
		}
		if diff := cmp.Diff(want, b.binding().Status.TargetGroup); diff != "" {
			t.Errorf("settings (-want +got):\n%s", diff)
		}
		if c := b.degraded(); c.Status != "False" {
			t.Errorf("Degraded says %s: %s", c.Reason, c.Message)
		}
		if n := b.told("DeregistrationDelayUnknown"); n != 1 || asked != 1 {
			t.Errorf("told %d times and asked %d times in an hour, want once", n, asked)
		}
	}, pod, newSlice("web-1", pod))
}

// One reading that fails is no trouble yet: the next one follows within a second.
func TestOneFailedReadingIsNoTrouble(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		n := 0
		b.aws.Before = func(_ context.Context, call fakeelbv2.Call) error {
			if call.Operation != "DescribeTargetHealth" {
				return nil
			}
			if n++; n%10 == 0 {
				return &smithy.GenericAPIError{Code: "InternalFailure", Message: "try again", Fault: smithy.FaultServer}
			}
			return nil
		}
		b.run(time.Minute, webKey)
		if told := b.told("FailedReconcile"); told != 0 || n < 30 {
			t.Errorf("%d warnings of %d readings of which each tenth failed, want none", told, n)
		}
	}, pod, newSlice("web-1", pod))
}

// Whoever takes the finalizer again and again has it back after pauses of up to 30 s, and targets stay as they are.
func TestFinalizerThatSomebodyElseRemovesIsPutBack(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.run(30*time.Second, webKey)
		remove := func() {
			binding := b.binding()
			binding.Finalizers = nil
			b.must(b.cluster.Update(t.Context(), binding))
		}
		remove()
		b.run(time.Second, webKey)
		if got := b.binding().Finalizers; len(got) != 1 {
			t.Fatalf("a second after it was removed the finalizers are %v", got)
		}
		puts, longest, lostAt := 0, time.Duration(0), time.Time{}
		for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); b.run(250*time.Millisecond, webKey) {
			if len(b.binding().Finalizers) == 0 {
				continue
			}
			if !lostAt.IsZero() {
				puts, longest = puts+1, max(longest, time.Since(lostAt))
			}
			remove()
			lostAt = time.Now()
		}
		if puts > 30 || puts < 15 || longest > 31*time.Second {
			t.Errorf("put back %d times in 10 minutes, after %s at most", puts, longest)
		}
		if told := b.told("Overwritten"); told != 1 {
			t.Errorf("told %d times", told)
		}
		if got := b.targets(); len(got) != 1 {
			t.Errorf("targets %v", got)
		}
	}, pod, newSlice("web-1", pod))
}
