// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

func TestModeSaysWhichFinalizerIsOurs(t *testing.T) {
	const own, beside = v1beta1.Finalizer, v1beta1.BesideFinalizer
	tests := map[string]struct {
		mode                  Mode
		has                   []string
		holds, isClaimed      bool
		wantClaimed, wantLeft []string
	}{
		"alone, new":                  {mode: Alone, wantClaimed: []string{own}},
		"alone, the incumbent's":      {mode: Alone, has: []string{own}, holds: true, isClaimed: true, wantClaimed: []string{own}},
		"alone, left by beside":       {mode: Alone, has: []string{"a", beside}, holds: true, wantClaimed: []string{"a", own}, wantLeft: []string{"a"}},
		"beside, new":                 {mode: Beside, has: []string{"a"}, wantClaimed: []string{"a", beside}, wantLeft: []string{"a"}},
		"beside, the incumbent's":     {mode: Beside, has: []string{own}, wantClaimed: []string{beside}, wantLeft: []string{own}},
		"beside, ours":                {mode: Beside, has: []string{beside}, holds: true, isClaimed: true, wantClaimed: []string{beside}},
		"beside, of two controllers":  {mode: Beside, has: []string{beside, own}, holds: true, wantClaimed: []string{beside}, wantLeft: []string{own}},
		"alone, of two installations": {mode: Alone, has: []string{own, beside}, holds: true, wantClaimed: []string{own}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			binding := func() *v1beta1.TargetGroupBinding {
				return &v1beta1.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Finalizers: append([]string(nil), tc.has...)}}
			}
			b := binding()
			if tc.mode.Holds(b) != tc.holds || tc.mode.IsClaimed(b) != tc.isClaimed {
				t.Errorf("holds %t, is claimed %t", tc.mode.Holds(b), tc.mode.IsClaimed(b))
			}
			if isNew := tc.mode.Claim(b); isNew == tc.holds || !tc.mode.IsClaimed(b) {
				t.Errorf("claimed %t as new %t", tc.mode.IsClaimed(b), isNew)
			}
			if diff := cmp.Diff(tc.wantClaimed, b.Finalizers); diff != "" {
				t.Errorf("claimed (-want +got):\n%s", diff)
			}
			b = binding()
			tc.mode.Release(b)
			if diff := cmp.Diff(append([]string{}, tc.wantLeft...), append([]string{}, b.Finalizers...)); diff != "" {
				t.Errorf("released (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClaimLeavesAnnotationsBesideTheIncumbent(t *testing.T) {
	marks := map[string]string{v1beta1.CheckpointAnnotation: "a/b", v1beta1.CheckpointTimestampAnnotation: "1", "own": "stays"}
	for mode, want := range map[Mode]map[string]string{Alone: {"own": "stays"}, Beside: marks} {
		b := &v1beta1.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
		for key, value := range marks {
			b.Annotations[key] = value
		}
		mode.Claim(b)
		if diff := cmp.Diff(want, b.Annotations); diff != "" {
			t.Errorf("mode %d (-want +got):\n%s", mode, diff)
		}
	}
}

func TestGiveBackEmptiesTheCheckpoint(t *testing.T) {
	for name, marks := range map[string]map[string]string{"with one": {v1beta1.CheckpointAnnotation: "a/b"}, "without one": nil} {
		t.Run(name, func(t *testing.T) {
			b := &v1beta1.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{v1beta1.BesideFinalizer, "a"}, Annotations: marks}}
			GiveBack(b)
			want := metav1.ObjectMeta{Finalizers: []string{"a", v1beta1.Finalizer}, Annotations: map[string]string{v1beta1.CheckpointAnnotation: ""}}
			if diff := cmp.Diff(want, b.ObjectMeta); diff != "" {
				t.Errorf("metadata (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnfencedBindingsAreLeftToTheIncumbent(t *testing.T) {
	full := v1beta1.TargetGroupBindingSpec{TargetGroupARN: "arn", TargetType: ptr.To(v1beta1.TargetTypeIP), TargetGroupProtocol: ptr.To(v1beta1.Protocol("TCP"))}
	tests := map[string]struct {
		change func(*v1beta1.TargetGroupBindingSpec)
		fenced bool
	}{
		"complete":          {func(*v1beta1.TargetGroupBindingSpec) {}, true},
		"no protocol yet":   {func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupProtocol = nil }, true},
		"no target type":    {func(s *v1beta1.TargetGroupBindingSpec) { s.TargetType = nil }, false},
		"no target group":   {func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupARN = "" }, false},
		"QUIC":              {func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupProtocol = ptr.To(v1beta1.Protocol("QUIC")) }, false},
		"TCP and QUIC":      {func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupProtocol = ptr.To(v1beta1.Protocol("TCP_QUIC")) }, false},
		"targets are nodes": {func(s *v1beta1.TargetGroupBindingSpec) { s.TargetType = ptr.To(v1beta1.TargetTypeInstance) }, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			spec := full
			tc.change(&spec)
			if why := Unfenced(&spec); (why == "") != tc.fenced {
				t.Errorf("left to the incumbent because %q, want fenced %t", why, tc.fenced)
			}
		})
	}
}
