// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/targets/consent"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// run looks at the given bindings and lets d pass. Each binding that was ever given is looked at when it is woken and when it
// asked for it; of changes in the cluster it learns within a second.
func (b *bed) run(d time.Duration, keys ...types.NamespacedName) {
	b.t.Helper()
	end := time.Now().Add(d)
	if b.due == nil {
		b.due = map[types.NamespacedName]time.Time{}
	}
	for _, key := range keys {
		b.due[key] = time.Now()
	}
	var watched time.Time
	for {
		next := end
		for _, at := range b.due {
			if at.Before(next) {
				next = at
			}
		}
		select {
		case key := <-b.queue:
			b.due[key] = time.Now()
		case <-time.After(time.Until(next)): // of the bubble
			if next.Equal(end) {
				return
			}
		}
		if time.Since(watched) >= time.Second {
			b.watch()
			watched = time.Now()
		}
		for key, at := range b.due {
			if !at.After(time.Now()) {
				b.look(key)
			}
		}
	}
}

// look is a pass over one of the bindings that run takes care of.
func (b *bed) look(key types.NamespacedName) {
	delete(b.due, key)
	result, err := b.Registrar.Reconcile(b.t.Context(), ctrl.Request{NamespacedName: key})
	b.must(err)
	synctest.Wait()
	if result.RequeueAfter > 0 {
		b.due[key] = time.Now().Add(result.RequeueAfter)
	}
}

// app is a binding of its own in the namespace shop, with one pod.
type app struct {
	key types.NamespacedName
	arn string
	pod *corev1.Pod
}

func (b *bed) addApp(n int) app {
	name := fmt.Sprintf("app-%d", n)
	a := app{
		key: types.NamespacedName{Namespace: "shop", Name: name}, arn: strings.ReplaceAll(testARN, "targetgroup/web", "targetgroup/"+name),
		pod: withFinalizer(newPod(name, fmt.Sprintf("10.1.0.%d", n))),
	}
	a.pod.Labels["app"], a.pod.Spec.ReadinessGates = name, nil
	group := testGroup()
	group.TargetGroupArn, group.TargetGroupName = aws.String(a.arn), aws.String(name)
	b.aws.AddGroup(group)
	binding, service, slice := newBinding(), newService(), newSlice(name, a.pod)
	binding.Name, binding.UID, binding.Spec.TargetGroupARN, binding.Spec.ServiceRef.Name = name, types.UID(name), a.arn, name
	service.Name, service.Spec.Selector["app"] = name, name
	slice.Labels[discoveryv1.LabelServiceName] = name
	for _, o := range []client.Object{binding, service, a.pod, slice} {
		b.must(b.cluster.Create(b.t.Context(), o))
	}
	return a
}

// addApps are so many, whose pods are registered and healthy.
func (b *bed) addApps(count int) (apps []app) {
	var keys []types.NamespacedName
	for n := range count {
		apps = append(apps, b.addApp(n))
		keys = append(keys, apps[n].key)
	}
	b.run(30*time.Second, keys...)
	for _, a := range apps {
		target := elbv2.Target{ID: a.pod.Status.PodIPs[0].IP, Port: 8080}
		if _, in := b.aws.Targets(a.arn)[target]; !in {
			b.t.Fatalf("%s is not registered", target)
		}
		b.aws.SetHealth(a.arn, target, healthy)
	}
	return apps
}

// addWebPods adds a pod to the binding web every second, and says how long the slowest of them waited for its registration.
func (b *bed) addWebPods(count int) (slowest time.Duration) {
	var mu sync.Mutex // added and slowest: calls are under way while a pod is added
	added := map[string]time.Time{}
	since := time.Now()
	b.aws.Before = watchRegistrations(b.aws.Before, func(target string) {
		mu.Lock()
		defer mu.Unlock()
		if at, ok := added[target]; ok {
			slowest = max(slowest, time.Since(at))
			delete(added, target)
		}
	})
	for n := range count {
		pod := newPod(fmt.Sprintf("web-%d", n), fmt.Sprintf("10.2.%d.%d", n/250, n%250))
		b.must(b.cluster.Create(b.t.Context(), pod))
		b.must(b.cluster.Create(b.t.Context(), newSlice(pod.Name, pod)))
		mu.Lock()
		added[pod.Status.PodIPs[0].IP+":8080"] = time.Now()
		mu.Unlock()
		b.run(time.Second, webKey)
	}
	b.run(10 * time.Second)
	mu.Lock()
	defer mu.Unlock()
	for target := range added {
		b.t.Errorf("%s is not registered %s after the first", target, time.Since(since))
	}
	return slowest
}

func watchRegistrations(before func(context.Context, fakeelbv2.Call) error, saw func(target string)) func(context.Context, fakeelbv2.Call) error {
	return func(ctx context.Context, call fakeelbv2.Call) error {
		if before != nil {
			if err := before(ctx, call); err != nil {
				return err
			}
		}
		if call.Operation == "RegisterTargets" {
			for _, target := range call.Targets {
				saw(target)
			}
		}
		return nil
	}
}

// What has failed for good must cost the others nothing.
func TestFailingGroupsDelayNoOther(t *testing.T) {
	const apps, minutes = 20, 1
	denied := func(operations ...string) func(*bed, []app) {
		return func(b *bed, _ []app) {
			b.aws.Before = func(_ context.Context, call fakeelbv2.Call) error {
				if call.Group != testARN && slices.Contains(operations, call.Operation) {
					return &smithy.GenericAPIError{Code: "AccessDenied", Message: "not authorized"}
				}
				return nil
			}
		}
	}
	tests := map[string]struct {
		breakGroups func(*bed, []app)
		wantCalls   string // that fail
		wantMost    int    // of them a minute and group, after the first minute
	}{
		"deleted groups": {
			breakGroups: func(b *bed, apps []app) {
				for _, a := range apps {
					b.aws.DeleteGroup(a.arn)
				}
			},
			wantCalls: "DeregisterTargets", wantMost: 0,
		},
		"no right to deregister": {
			breakGroups: denied("DeregisterTargets"), wantCalls: "DeregisterTargets", wantMost: 3,
		},
		"no right to read and to deregister": {
			breakGroups: denied("DescribeTargetHealth", "DeregisterTargets"), wantCalls: "DescribeTargetHealth", wantMost: 3,
		},
	}
	t.Parallel()
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBed(t, func(b *bed) {
				broken := b.addApps(apps)
				tc.breakGroups(b, broken)
				for _, a := range broken {
					b.must(b.cluster.Delete(t.Context(), a.pod)) // and it has its grace period
					b.due[a.key] = time.Now()
				}
				if slowest := b.addWebPods(30); slowest > 10*time.Second {
					t.Errorf("in the first half minute a registration in a healthy group took %s", slowest)
				}
				var failing atomic.Int64
				count := func(_ context.Context, call fakeelbv2.Call) error {
					if call.Group != testARN && call.Operation == tc.wantCalls {
						failing.Add(1)
					}
					return nil
				}
				before := b.aws.Before
				b.aws.Before = func(ctx context.Context, call fakeelbv2.Call) error {
					_ = count(ctx, call)
					if before != nil {
						return before(ctx, call)
					}
					return nil
				}
				b.run(minutes * time.Minute)
				if most := apps * minutes * tc.wantMost; failing.Load() > int64(most) {
					t.Errorf("%d calls of %s in %d minutes for %d broken groups, want %d at most", failing.Load(), tc.wantCalls, minutes, apps, most)
				}
			})
		})
	}
}

func TestDeletedGroupIsFoundAgain(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.run(time.Minute, webKey)
		group := testGroup()
		b.aws.DeleteGroup(testARN)
		b.run(2*testDrift, webKey)
		if c := b.degraded(); c.Reason != v1beta1.ReasonTargetGroupNotFound {
			t.Errorf("while the group is gone Degraded says %s: %s", c.Reason, c.Message)
		}
		b.aws.AddGroup(group)
		b.run(time.Minute, webKey)
		if diff := cmp.Diff(map[string]elbv2.State{"10.0.0.1:8080": elbv2.StateInitial}, b.targets()); diff != "" {
			t.Errorf("targets of the group that came back (-want +got):\n%s", diff)
		}
	}, pod, newSlice("web-1", pod))
}

// A deregistration that AWS has refused for minutes holds up none that is new.
// AWS may not show for some seconds what was made a moment ago.
func TestNewGroupThatAWSDoesNotShowYetIsNoTrouble(t *testing.T) {
	inConsentBed(t, func(b *bed) {
		asking(b, consent.Require)
		group := testGroup()
		b.aws.DeleteGroup(testARN)
		for range 5 {
			b.run(time.Second, webKey)
			wantCondition(b, v1beta1.ConditionDegraded, "False", v1beta1.ReasonHealthy, "")
		}
		b.aws.AddGroup(group)
		tag(b, "prod/shop")
		b.run(5*time.Second, webKey)
		wantTargets(b, bothRegistered)
	})
}

func TestNewDeregistrationWaitsForNoFailingOne(t *testing.T) {
	first, second := withFinalizer(newPod("web-0", "10.0.0.1")), withFinalizer(newPod("web-1", "10.0.0.2"))
	inBed(t, func(b *bed) {
		b.run(time.Minute, webKey)
		refused := true
		b.aws.Before = func(_ context.Context, call fakeelbv2.Call) error {
			if refused && call.Operation == "DeregisterTargets" {
				return &smithy.GenericAPIError{Code: "AccessDenied", Message: "not authorized"}
			}
			return nil
		}
		b.must(b.cluster.Delete(t.Context(), first))
		b.run(5*time.Minute, webKey)
		refused = false
		b.must(b.cluster.Delete(t.Context(), second))
		b.run(time.Second, webKey)
		want := map[string]elbv2.State{"10.0.0.1:8080": elbv2.StateDraining, "10.0.0.2:8080": elbv2.StateDraining}
		if diff := cmp.Diff(want, b.targets()); diff != "" {
			t.Errorf("a second after the second pod was deleted (-want +got):\n%s", diff)
		}
	}, first, second, newSlice("web-1", first, second))
}
