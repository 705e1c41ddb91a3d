// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/e2e/testbed"
)

const gate = "target-health.elbv2.k8s.aws/web"

// pod is one of a version with a gate, and with these conditions True.
func pod(uid types.UID, version string, conditions ...corev1.PodConditionType) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "web", Name: string(uid), UID: uid, Labels: map[string]string{testbed.AppLabel: "web"},
	}}
	p.Spec.Containers = []corev1.Container{{Env: []corev1.EnvVar{{Name: "VERSION", Value: version}}}}
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate}}
	for _, c := range conditions {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: c, Status: corev1.ConditionTrue})
	}
	return p
}

func deleted(p *corev1.Pod) *corev1.Pod {
	p.DeletionTimestamp = &metav1.Time{Time: start}
	return p
}

func TestRosterNotesFirstSights(t *testing.T) {
	addressed := pod("a", "1")
	addressed.Status.PodIP = ip
	r := newRoster()
	r.See(addressed, at(1))
	r.See(pod("a", "1", gate), at(2))
	r.See(pod("a", "1", gate, corev1.PodReady), at(3))
	r.See(pod("a", "1"), at(4))
	r.See(deleted(pod("a", "1", gate, corev1.PodReady)), at(5))
	r.Lose("a", at(6))
	r.Lose("unknown", at(7))
	want := []sighting{{
		App: "web", IP: ip, Version: "1", GateOpen: at(2), Ready: at(3), Deleted: at(5), Gone: at(6), IsReady: true,
	}}
	if diff := cmp.Diff(want, r.sightings()); diff != "" {
		t.Errorf("sightings (-want +got):\n%s", diff)
	}
}

func TestRosterTakesPodThatIsGoneForDeleted(t *testing.T) {
	r := newRoster()
	r.See(pod("a", "1"), at(1))
	r.Lose("a", at(2))
	want := []sighting{{App: "web", Version: "1", Deleted: at(2), Gone: at(2)}}
	if diff := cmp.Diff(want, r.sightings()); diff != "" {
		t.Errorf("sightings (-want +got):\n%s", diff)
	}
}

func TestGatesOpenWantsAllOfThem(t *testing.T) {
	const second = "target-health.elbv2.k8s.aws/second"
	two := pod("a", "1", gate)
	two.Spec.ReadinessGates = append(two.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: second})
	none := pod("a", "1", gate)
	none.Spec.ReadinessGates = nil
	cases := map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"closed":      {pod("a", "1", corev1.ContainersReady), false},
		"open":        {pod("a", "1", gate), true},
		"one of two":  {two, false},
		"has no gate": {none, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := testbed.GatesOpen(tc.pod); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

func TestCountSaysHowFarARolloutIs(t *testing.T) {
	r := newRoster()
	for _, p := range []*corev1.Pod{
		pod("new", "2", corev1.PodReady), pod("newer", "2"), deleted(pod("newest", "2", corev1.PodReady)),
		pod("old", "1", corev1.PodReady), deleted(pod("older", "1", corev1.PodReady)), pod("oldest", "1"),
	} {
		r.See(p, start)
	}
	r.Lose("oldest", start)
	got := r.count("2")
	if diff := cmp.Diff(headcount{Ready: 1, Pending: 1, Others: 3}, got); diff != "" {
		t.Errorf("headcount (-want +got):\n%s", diff)
	}
	if got.complete(1) {
		t.Error("complete with others left")
	}
	if !(headcount{Ready: 1}).complete(1) || (headcount{Ready: 1}).complete(2) {
		t.Error("complete is not: that many, and no others")
	}
}

func TestCompletedIsTheLastOfReadyAndDeleted(t *testing.T) {
	cases := map[string]struct {
		pods []sighting
		want time.Time
	}{
		"none":                   {nil, time.Time{}},
		"new one is last":        {[]sighting{{Version: "1", Deleted: at(1)}, {Version: "2", Ready: at(2)}}, at(2)},
		"old one is last":        {[]sighting{{Version: "1", Ready: at(9), Deleted: at(3), Gone: at(9)}, {Version: "2", Ready: at(2)}}, at(3)},
		"new one that was taken": {[]sighting{{Version: "2", Ready: at(9), Deleted: at(4)}, {Version: "2", Ready: at(2)}}, at(4)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := completed(tc.pods, "2"); !got.Equal(tc.want) {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestStripKeepsWhatARosterReads(t *testing.T) {
	full := deleted(pod("a", "1", gate, corev1.PodReady))
	full.Status.PodIP = ip
	full.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "somebody"}}
	stripped, err := strip(full)
	if err != nil {
		t.Fatal(err)
	}
	want, got := newRoster(), newRoster()
	want.See(full, start)
	got.See(stripped.(*corev1.Pod), start)
	if diff := cmp.Diff(want.sightings(), got.sightings()); diff != "" {
		t.Errorf("sightings (-want +got):\n%s", diff)
	}
	if stripped.(*corev1.Pod).ManagedFields != nil {
		t.Error("the rest was kept")
	}
}
