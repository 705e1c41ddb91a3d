// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/targetgate/targetgate/targets/contest"
	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/report"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// statusBed is a Writer before an API server in memory.
type statusBed struct {
	*Writer
	t       *testing.T
	cluster client.Client
	events  *clientevents.FakeRecorder
	after   func() // a write and before its answer

	mu       sync.Mutex
	writes   int
	requeued int
}

func inStatusBed(t *testing.T, test func(b *statusBed)) {
	synctest.Test(t, func(t *testing.T) {
		scheme := runtime.NewScheme()
		if err := v1beta1.AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		b := &statusBed{t: t, events: clientevents.NewFakeRecorder(1000), after: func() {}}
		b.cluster = fake.NewClientBuilder().WithScheme(scheme).WithObjects(fixture.Binding()).WithStatusSubresource(fixture.Binding()).Build()
		api := interceptor.NewClient(b.cluster.(client.WithWatch), interceptor.Funcs{SubResourcePatch: func(
			ctx context.Context, c client.Client, name string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
		) error {
			err := c.SubResource(name).Patch(ctx, o, p, opts...)
			b.mu.Lock()
			b.writes++
			b.mu.Unlock()
			b.after()
			return err
		}})
		b.Writer = NewWriter(api, clock.RealClock{}, report.Reporter{Recorder: b.events, Clock: clock.RealClock{}})
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		b.Start(ctx, func(types.NamespacedName, time.Duration) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.requeued++
		})
		test(b)
	})
}

func (b *statusBed) read() *v1beta1.TargetGroupBinding {
	b.t.Helper()
	synctest.Wait()
	out := &v1beta1.TargetGroupBinding{}
	if err := b.cluster.Get(context.Background(), client.ObjectKeyFromObject(fixture.Binding()), out); err != nil {
		b.t.Fatal(err)
	}
	return out
}

// overwrite has somebody else change the status.
func (b *statusBed) overwrite(change func(*v1beta1.TargetGroupBindingStatus)) {
	b.t.Helper()
	now := b.read()
	change(&now.Status)
	if err := b.cluster.Status().Update(context.Background(), now); err != nil {
		b.t.Fatal(err)
	}
}

func wipe(s *v1beta1.TargetGroupBindingStatus) { *s = v1beta1.TargetGroupBindingStatus{} }

var refused = Input{Generation: 1, Unsupported: "it asks for what there is not"}

// What is put back is what was there, with the times of its transitions.
func TestStatusThatSomebodyElseHasChangedIsPutBackAsItWas(t *testing.T) {
	for name, change := range map[string]func(*v1beta1.TargetGroupBindingStatus){
		"wiped":                 wipe,
		"without a condition":   func(s *v1beta1.TargetGroupBindingStatus) { s.Conditions = s.Conditions[:1] },
		"with another message":  func(s *v1beta1.TargetGroupBindingStatus) { s.Conditions[0].Message = "fine" },
		"with another time":     func(s *v1beta1.TargetGroupBindingStatus) { s.Conditions[0].LastTransitionTime = metav1.Unix(1, 0) },
		"without a generation":  func(s *v1beta1.TargetGroupBindingStatus) { s.ObservedGeneration = nil },
		"with counts of nobody": func(s *v1beta1.TargetGroupBindingStatus) { s.Targets = &v1beta1.TargetCounts{Summary: "9/9"} },
	} {
		for when, restart := range map[string]bool{"": false, ", after a restart": true} {
			t.Run(name+when, func(t *testing.T) {
				inStatusBed(t, func(b *statusBed) {
					s := &Status{}
					b.Write(s, b.read(), refused)
					ours := b.read()
					if restart {
						s = &Status{}
						b.Write(s, ours, refused)
					}
					if s.IsForeign(ours) {
						t.Error("our own write asks for a pass")
					}
					time.Sleep(2 * time.Second)
					b.overwrite(change)
					theirs := b.read()
					if !s.IsForeign(theirs) {
						t.Error("somebody else's write asks for no pass")
					}
					b.Write(s, theirs, refused)
					if diff := cmp.Diff(ours.Status, b.read().Status); diff != "" {
						t.Errorf("status (-want +got):\n%s", diff)
					}
					if b.Write(s, b.read(), refused); b.writes != 2 {
						t.Errorf("%d writes, want two", b.writes)
					}
				})
			})
		}
	}
}

func TestConditionsOfOthersStandBesideOurs(t *testing.T) {
	inStatusBed(t, func(b *statusBed) {
		s := &Status{}
		b.Write(s, b.read(), refused)
		b.overwrite(func(s *v1beta1.TargetGroupBindingStatus) {
			s.Conditions = append(s.Conditions, metav1.Condition{
				Type: "Audited", Status: metav1.ConditionTrue, Reason: "Audited", LastTransitionTime: metav1.Now(),
			})
		})
		if b.Write(s, b.read(), refused); b.writes != 1 || s.IsForeign(b.read()) {
			t.Errorf("%d writes, want one: nobody has changed ours", b.writes)
		}
	})
}

func TestStatusThatIsChangedBeforeTheAnswerIsSeenAfterIt(t *testing.T) {
	inStatusBed(t, func(b *statusBed) {
		s, slow := &Status{}, make(chan struct{})
		b.after = func() { <-slow }
		b.Write(s, b.read(), refused)
		b.overwrite(wipe)
		b.Write(s, b.read(), refused)
		close(slow)
		if b.read(); b.requeued != 1 {
			t.Fatalf("the binding is requeued %d times, want once", b.requeued)
		}
		b.Write(s, b.read(), refused)
		if got := b.read().Status.Conditions; len(got) == 0 {
			t.Error("the status is not put back")
		}
	})
}

// A cache that does not show our write yet is no reason to write again.
func TestCacheThatIsBehindIsNoChangeByOthers(t *testing.T) {
	inStatusBed(t, func(b *statusBed) {
		s, behind := &Status{}, b.read()
		b.Write(s, behind, refused)
		b.read()
		if b.Write(s, behind, refused); b.writes != 1 || s.IsForeign(behind) {
			t.Errorf("%d writes, want one", b.writes)
		}
	})
}

func TestStatusThatIsChangedAgainAndAgain(t *testing.T) {
	inStatusBed(t, func(b *statusBed) {
		s := &Status{}
		b.Write(s, b.read(), refused)
		for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); time.Sleep(250 * time.Millisecond) {
			if len(b.read().Status.Conditions) > 0 {
				b.overwrite(wipe)
			}
			b.Write(s, b.read(), refused)
		}
		if b.writes > 30 || b.writes < 20 {
			t.Errorf("%d writes in 10 minutes", b.writes)
		}
		told := 0
		for len(b.events.Events) > 0 {
			if e := <-b.events.Events; strings.Contains(e, contest.Reason) {
				told++
			}
		}
		if told != 1 {
			t.Errorf("told %d times", told)
		}
	})
}

// The API server keeps whole seconds.
func TestWrittenStatusIsAsTheAPIServerAnswersIt(t *testing.T) {
	inStatusBed(t, func(b *statusBed) {
		time.Sleep(1234 * time.Millisecond)
		s := &Status{}
		b.Write(s, b.read(), refused)
		b.read()
		data, err := json.Marshal(s.written)
		var answered v1beta1.TargetGroupBindingStatus
		if err != nil || json.Unmarshal(data, &answered) != nil || !contains(&answered, s.written) {
			t.Errorf("written %v, answered %v", s.written, answered)
		}
	})
}
