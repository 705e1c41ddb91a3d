// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	clientevents "k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/contest"
	"github.com/targetgate/targetgate/targets/fixture"
)

// read is the pod as a cache that is up to date has it.
func (b *writerBed) read(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	synctest.Wait()
	now := &corev1.Pod{}
	if err := b.cluster.Get(context.Background(), client.ObjectKeyFromObject(pod), now); err != nil {
		t.Fatal(err)
	}
	return now
}

// overwrite has somebody else write the pod's conditions, and returns the pod since then.
func (b *writerBed) overwrite(t *testing.T, pod *corev1.Pod, conditions ...corev1.PodCondition) *corev1.Pod {
	t.Helper()
	now := b.read(t, pod)
	now.Status.Conditions = conditions
	if err := b.cluster.Status().Update(context.Background(), now); err != nil {
		t.Fatal(err)
	}
	return b.read(t, pod)
}

// events are those so far.
func (b *writerBed) events() (out []string) {
	for {
		select {
		case e := <-b.recorder.(*clientevents.FakeRecorder).Events:
			out = append(out, e)
		default:
			return out
		}
	}
}

// The pause for a cache that is behind ends when the cache shows our write: what somebody else has written since then is seen at once.
func TestGateThatIsLostSoonAfterOurWriteIsPutBack(t *testing.T) {
	healthy := readiness.Health{Status: corev1.ConditionTrue}
	for name, conditions := range map[string][]corev1.PodCondition{
		"removed":      nil,
		"closed":       {{Type: fixture.Gate, Status: corev1.ConditionFalse}},
		"said to wait": {{Type: fixture.Gate, Status: corev1.ConditionFalse, Reason: "Elb.RegistrationInProgress"}},
		"unknown":      {{Type: fixture.Gate, Status: corev1.ConditionUnknown}},
		"reworded":     {{Type: fixture.Gate, Status: corev1.ConditionTrue, Reason: "Another", Message: "says so"}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := fixture.Pod("web-0", "10.0.0.1")
			inWriterBed(t, func(b *writerBed) {
				g := NewGates(web)
				cached := b.read(t, pod)
				b.Write(g, []Update{{Pod: cached, Health: healthy}})
				synctest.Wait()
				if b.See(g, []*corev1.Pod{cached}); len(g.Lost()) > 0 || !g.Opened(time.Now())[pod.UID] {
					t.Error("the cache is behind, and the gate does not count as open")
				}
				ours := b.read(t, pod)
				if b.Changed(g, cached, ours) {
					t.Error("our own write asks for a pass")
				}
				time.Sleep(2 * time.Second)
				theirs := b.overwrite(t, pod, conditions...)
				if !b.Changed(g, ours, theirs) {
					t.Error("somebody else's write asks for no pass")
				}
				b.See(g, []*corev1.Pod{theirs})
				if lost := g.Lost()[pod.UID]; lost != healthy {
					t.Fatalf("lost is %v", lost)
				}
				b.Write(g, []Update{{Pod: theirs, Health: healthy, PutBack: true}})
				now := b.read(t, pod)
				if !readiness.Says(now, fixture.Gate, healthy) {
					t.Errorf("conditions %v, want the gate open", now.Status.Conditions)
				}
				if b.See(g, []*corev1.Pod{now}); len(g.Lost()) > 0 {
					t.Error("it counts as lost though it is back")
				}
			}, pod)
		})
	}
}

// A pod that was open long ago, so that nothing is remembered of it.
func TestGateThatIsLostLaterIsPutBack(t *testing.T) {
	pod := fixture.Pod("web-0", "10.0.0.1")
	inWriterBed(t, func(b *writerBed) {
		g := NewGates(web)
		before := b.overwrite(t, pod, corev1.PodCondition{Type: fixture.Gate, Status: corev1.ConditionTrue})
		after := b.overwrite(t, pod)
		if !b.Changed(g, before, after) || g.Lost()[pod.UID].Status != corev1.ConditionTrue {
			t.Errorf("lost: %v", g.Lost())
		}
		if b.See(g, nil); len(g.Lost()) > 0 {
			t.Error("what is lost outlives the pod")
		}
	}, pod)
}

// Somebody else's write that the cache shows before the API server has answered ours.
func TestGateThatIsLostBeforeTheAnswerIsSeenAfterIt(t *testing.T) {
	pod := fixture.Pod("web-0", "10.0.0.1")
	inWriterBed(t, func(b *writerBed) {
		g, slow := NewGates(web), make(chan struct{})
		b.after = func() { <-slow }
		b.Write(g, []Update{{Pod: b.read(t, pod), Health: opening}})
		theirs := b.overwrite(t, pod)
		b.See(g, []*corev1.Pod{theirs})
		close(slow)
		synctest.Wait()
		if len(b.requeued) != 1 || b.requeued[0] != 0 {
			t.Fatalf("the binding is requeued after %v, want at once", b.requeued)
		}
		if b.See(g, []*corev1.Pod{theirs}); g.Lost()[pod.UID] != opening {
			t.Errorf("lost: %v", g.Lost())
		}
	}, pod)
}

// Who goes on to change it is answered more and more slowly, and told once.
func TestGateThatIsLostAgainAndAgain(t *testing.T) {
	pod := fixture.Pod("web-0", "10.0.0.1")
	inWriterBed(t, func(b *writerBed) {
		g, writes, longest := NewGates(web), 0, time.Duration(0)
		b.answer = func(*corev1.Pod) error {
			writes++
			return nil
		}
		lostAt := time.Now()
		for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); time.Sleep(250 * time.Millisecond) {
			cached := b.read(t, pod)
			if readiness.IsOpen(cached, fixture.Gate) {
				longest = max(longest, time.Since(lostAt))
				cached, lostAt = b.overwrite(t, pod), time.Now()
			}
			b.See(g, []*corev1.Pod{cached})
			b.Write(g, []Update{{Pod: cached, Health: opening, PutBack: len(g.Lost()) > 0}})
		}
		if writes > 30 || writes < 20 || longest > 31*time.Second {
			t.Errorf("%d writes in 10 minutes, the longest pause %s", writes, longest)
		}
		told := 0
		for _, e := range b.events() {
			if strings.Contains(e, contest.Reason) {
				told++
			}
		}
		if told != 1 {
			t.Errorf("told %d times", told)
		}
	}, pod)
}
