// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package guards

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/fixture"
)

const own = "targetgate-system"

// bed is an Answerer of one guard on node-1, whose instance is i-01, and an API server in memory.
type bed struct {
	t        *testing.T
	answerer *Answerer
	cluster  client.Client

	mu     sync.Mutex
	left   string // the binding whose target group has every instance that is asked for, empty when none has
	broken error  // of the registrar
	asked  int    // how often that was
	isNew  int    // how often of that with new instances
	fail   error  // of writes
	writes int
}

func inBed(t *testing.T, test func(b *bed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b := &bed{t: t}
		builder := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithStatusSubresource(&corev1.Pod{}, &corev1.Node{})
		b.cluster = builder.WithObjects(newGuard(), fixture.Node("node-1", "i-01", corev1.ConditionTrue)).Build()
		b.answerer = NewAnswerer(Settings{
			Namespace: own, Nodes: b.cluster, Left: b.targetsLeft, Clock: clock.RealClock{},
			Pods: &readiness.Writer{Clock: clock.RealClock{}, Client: interceptor.NewClient(b.cluster.(client.WithWatch), interceptor.Funcs{
				SubResourcePatch: b.patch,
			}).Status()},
		})
		b.answerer.Start(ctx)
		b.see()
		test(b)
	})
}

func newGuard() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: own, Name: "guard", UID: "guard", Labels: map[string]string{Label: Enabled}, Finalizers: []string{"test/kept"},
		},
		Spec: corev1.PodSpec{NodeName: "node-1"},
	}
}

func (b *bed) targetsLeft(_ context.Context, instances map[string]bool, isNew bool) (map[string]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	if isNew {
		b.isNew++
	}
	out := map[string]string{}
	for id := range instances {
		out[id] = b.left
	}
	return out, b.broken
}

func (b *bed) patch(ctx context.Context, c client.Client, name string, o client.Object, p client.Patch,
	opts ...client.SubResourcePatchOption,
) error {
	b.mu.Lock()
	b.writes++
	err := b.fail
	b.mu.Unlock()
	if err != nil {
		return err
	}
	return c.SubResource(name).Patch(ctx, o, p, opts...)
}

// set changes what the registrar and the API server say.
func (b *bed) set(left string, fail error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left, b.fail = left, fail
}

func (b *bed) breakRegistrar(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = err
}

// counts are how often the registrar was asked, and guards were written to.
func (b *bed) counts() (asked, isNew, writes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked, b.isNew, b.writes
}

// see has the Answerer see the guard as the API server has it.
func (b *bed) see() {
	b.t.Helper()
	pod := b.guard()
	b.answerer.FollowPods(handler.Funcs{}).Update(b.t.Context(), event.UpdateEvent{ObjectOld: pod, ObjectNew: pod}, nil)
}

func (b *bed) guard() *corev1.Pod {
	b.t.Helper()
	var pod corev1.Pod
	if err := b.cluster.Get(b.t.Context(), client.ObjectKey{Namespace: own, Name: "guard"}, &pod); err != nil {
		b.t.Fatal(err)
	}
	return &pod
}

// node changes the node, which the Answerer sees.
func (b *bed) node(taints ...corev1.Taint) {
	b.t.Helper()
	var node corev1.Node
	if err := b.cluster.Get(b.t.Context(), client.ObjectKey{Name: "node-1"}, &node); err != nil {
		b.t.Fatal(err)
	}
	node.Spec.Taints = taints
	if err := b.cluster.Update(b.t.Context(), &node); err != nil {
		b.t.Fatal(err)
	}
	b.answerer.FollowNodes(handler.Funcs{}).Update(b.t.Context(), event.UpdateEvent{ObjectOld: &node, ObjectNew: &node}, nil)
}

var disrupted = corev1.Taint{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule}

// evict deletes the guard's pod, which waits for its process.
func (b *bed) evict() {
	b.t.Helper()
	if err := b.cluster.Delete(b.t.Context(), b.guard()); err != nil {
		b.t.Fatal(err)
	}
	b.see()
}

// says is what the guard was told some time later, as status and reason. The watch shows it what is written each second.
func (b *bed) says(after time.Duration) string {
	b.t.Helper()
	for range after / time.Second {
		time.Sleep(time.Second) // of the bubble
		b.see()
	}
	c := readiness.Condition(b.guard(), readiness.MayLeave)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}

func (b *bed) want(after time.Duration, want string) {
	b.t.Helper()
	if got := b.says(after); got != want {
		b.t.Errorf("after %s the guard was told %q, want %q", after, got, want)
	}
}

func (b *bed) wantWrites(want int) {
	b.t.Helper()
	if _, _, writes := b.counts(); writes != want {
		b.t.Errorf("%d writes, want %d", writes, want)
	}
}

func TestAnswererLetsAGuardLeaveWhenItsNodeHasDrained(t *testing.T) {
	inBed(t, func(b *bed) {
		b.want(time.Hour, "")
		b.set("shop/web", nil)
		b.node(disrupted)
		b.want(2*time.Second, "False TargetsLeft")
		if diff := cmp.Diff(map[string]bool{"i-01": true}, b.answerer.Leaving()); diff != "" {
			t.Errorf("instances that leave (-want +got):\n%s", diff)
		}
		b.evict()
		b.want(5*time.Minute, "False TargetsLeft")
		b.set("", nil)
		b.want(3*time.Second, "True NodeDrained")
		b.want(time.Minute, "True NodeDrained")
		b.wantWrites(2)
		if _, isNew, _ := b.counts(); isNew != 1 {
			t.Errorf("the instance was new %d times, want once", isNew)
		}
	})
}

// An update of the chart deletes guards of nodes that stay.
func TestAnswererLetsAGuardLeaveAtOnceWhenItsNodeStays(t *testing.T) {
	inBed(t, func(b *bed) {
		b.set("shop/web", nil)
		b.evict()
		b.want(time.Second, "")
		b.want(4*time.Second, "True NodeStays")
		b.wantWrites(1)
	})
}

// The watch of pods may be ahead of the watch of nodes.
func TestAnswererSeesTheTaintAfterTheDeletion(t *testing.T) {
	inBed(t, func(b *bed) {
		b.set("shop/web", nil)
		b.evict()
		b.want(time.Second, "")
		b.node(disrupted)
		b.want(time.Minute, "False TargetsLeft")
	})
}

func TestAnswererTakesBackWhatItSaidOfADepartureThatIsCalledOff(t *testing.T) {
	inBed(t, func(b *bed) {
		b.node(disrupted)
		b.want(5*time.Second, "True NodeDrained")
		b.node()
		b.want(5*time.Second, "False NodeStays")
		if leaving := b.answerer.Leaving(); len(leaving) > 0 {
			t.Errorf("instances %v leave still", leaving)
		}
		b.set("shop/web", nil)
		b.node(disrupted)
		b.want(3*time.Second, "False TargetsLeft")
	})
}

func TestAnswererTriesAgainAfterAFailedWrite(t *testing.T) {
	inBed(t, func(b *bed) {
		b.set("", errors.New("no answer"))
		b.evict()
		b.want(time.Minute, "")
		if _, _, tries := b.counts(); tries < 10 || tries > 30 {
			t.Errorf("%d tries in a minute, want one every 2 to 3 s", tries)
		}
		b.set("", nil)
		b.want(4*time.Second, "True NodeStays")
	})
}

// The groups of nodes that leave are not read for them before the registrar was asked with success.
func TestAnswererAsksAgainAfterTheRegistrarFailed(t *testing.T) {
	inBed(t, func(b *bed) {
		b.set("shop/web", nil)
		b.breakRegistrar(errors.New("no cache"))
		b.node(disrupted)
		b.want(5*time.Second, "")
		_, before, _ := b.counts()
		b.breakRegistrar(nil)
		b.want(3*time.Second, "False TargetsLeft")
		if _, isNew, _ := b.counts(); isNew != before+1 {
			t.Errorf("the instance was new %d times after the failure, want once", isNew-before)
		}
	})
}

// With many bindings the first of those that are left may change often.
func TestAnswererDoesNotWriteEachMessage(t *testing.T) {
	inBed(t, func(b *bed) {
		b.node(disrupted)
		for i := range 60 {
			b.set(fmt.Sprint("shop/web-", i), nil)
			b.says(time.Second)
		}
		if _, _, writes := b.counts(); writes < 2 || writes > 3 {
			t.Errorf("%d writes in a minute, want one every 30 s", writes)
		}
	})
}

func TestAnswererTellsNothingOfANodeThatItDoesNotKnow(t *testing.T) {
	inBed(t, func(b *bed) {
		if err := b.cluster.Delete(t.Context(), fixture.Node("node-1", "i-01", corev1.ConditionTrue)); err != nil {
			t.Fatal(err)
		}
		b.evict()
		b.want(time.Minute, "")
		b.wantWrites(0)
	})
}

func TestAnswererForgetsGuardsThatAreGone(t *testing.T) {
	tests := map[string]func(b *bed, pod *corev1.Pod){
		"deleted": func(b *bed, pod *corev1.Pod) {
			b.answerer.FollowPods(handler.Funcs{}).Delete(b.t.Context(), event.DeleteEvent{Object: pod}, nil)
		},
		"ended": func(b *bed, pod *corev1.Pod) {
			pod.Status.Phase = corev1.PodFailed
			b.answerer.FollowPods(handler.Funcs{}).Create(b.t.Context(), event.CreateEvent{Object: pod}, nil)
		},
		"another of that name": func(b *bed, pod *corev1.Pod) {
			other := pod.DeepCopy()
			other.UID, other.Labels = "other", nil
			b.answerer.FollowPods(handler.Funcs{}).Update(b.t.Context(), event.UpdateEvent{ObjectOld: pod, ObjectNew: other}, nil)
		},
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			inBed(t, func(b *bed) {
				b.set("shop/web", nil)
				b.node(disrupted)
				b.want(3*time.Second, "False TargetsLeft")
				end(b, b.guard())
				time.Sleep(3 * time.Second) // of the bubble
				if leaving := b.answerer.Leaving(); len(leaving) > 0 {
					t.Errorf("groups are still read for %v", leaving)
				}
			})
		})
	}
}

// A tenant's pod with the label has no say, nor has any where targetgate's own namespace is not known.
func TestIs(t *testing.T) {
	tests := map[string]struct {
		change func(*corev1.Pod)
		own    string
		want   bool
	}{
		"guard":                    {func(*corev1.Pod) {}, own, true},
		"no label":                 {func(p *corev1.Pod) { p.Labels = nil }, own, false},
		"another value":            {func(p *corev1.Pod) { p.Labels[Label] = "true" }, own, false},
		"in a tenant's namespace":  {func(p *corev1.Pod) { p.Namespace = "shop" }, own, false},
		"own namespace not known":  {func(*corev1.Pod) {}, "", false},
		"in no namespace, unknown": {func(p *corev1.Pod) { p.Namespace = "" }, "", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := newGuard()
			tc.change(pod)
			if got := Is(pod, tc.own); got != tc.want {
				t.Errorf("guard: %t, want %t", got, tc.want)
			}
		})
	}
}

// Of all guards in one look, not one look a guard.
func TestAnswererAsksOnceForManyGuards(t *testing.T) {
	inBed(t, func(b *bed) {
		b.set("shop/web", nil)
		for i := range 100 {
			node := fixture.Node(fmt.Sprint("many-", i), fmt.Sprintf("i-0%d", i), corev1.ConditionTrue)
			node.Spec.Taints = []corev1.Taint{disrupted}
			pod := newGuard()
			pod.Name, pod.UID, pod.Spec.NodeName = node.Name, types.UID(node.Name), node.Name
			pod.DeletionGracePeriodSeconds = ptr.To[int64](375)
			if err := errors.Join(b.cluster.Create(t.Context(), node), b.cluster.Create(t.Context(), pod)); err != nil {
				t.Fatal(err)
			}
			b.answerer.FollowPods(handler.Funcs{}).Create(t.Context(), event.CreateEvent{Object: pod}, nil)
		}
		before, _, _ := b.counts()
		time.Sleep(10 * time.Second) // of the bubble
		asked, _, writes := b.counts()
		if asked -= before; asked < 5 || asked > 15 || writes != 100 {
			t.Errorf("the registrar was asked %d times in 10 s, and %d guards told; want once a second, and each once", asked, writes)
		}
	})
}

// Whoever overwrites what a guard was told, also right after that, keeps it for no longer than the watch takes to show it; who goes on is
// answered more and more slowly.
func TestAnswerThatSomebodyElseChangesIsGivenAgain(t *testing.T) {
	inBed(t, func(b *bed) {
		overwrite := func(conditions ...corev1.PodCondition) {
			pod := b.guard()
			pod.Status.Conditions = conditions
			if err := b.cluster.Status().Update(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
			b.see()
		}
		b.node(disrupted)
		b.want(5*time.Second, "True NodeDrained")
		overwrite()
		b.want(3*time.Second, "True NodeDrained")
		time.Sleep(time.Minute)
		overwrite(corev1.PodCondition{Type: readiness.MayLeave, Status: corev1.ConditionFalse, Reason: readiness.ReasonTargetsLeft})
		b.want(3*time.Second, "True NodeDrained")
		_, _, before := b.counts()
		for range 600 {
			if b.says(time.Second) != "" {
				overwrite()
			}
		}
		if _, _, writes := b.counts(); writes-before > 30 || writes-before < 15 {
			t.Errorf("%d writes in 10 minutes", writes-before)
		}
	})
}
