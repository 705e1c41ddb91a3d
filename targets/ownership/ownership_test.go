// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

const testARN = "arn:aws:elasticloadbalancing:eu-central-1:123456789012:targetgroup/web/0123456789abcdef"

type change = func(*v1beta1.TargetGroupBinding)

// newBinding returns a binding that can act, created that many seconds into a minute and with that UID as its name.
func newBinding(second int, uid types.UID, changes ...change) v1beta1.TargetGroupBinding {
	b := v1beta1.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: string(uid), UID: uid, Finalizers: []string{v1beta1.Finalizer},
		CreationTimestamp: metav1.Date(2026, 1, 1, 12, 0, second, 0, time.UTC),
	}}
	b.Spec.TargetGroupARN, b.Spec.TargetType = testARN, ptr.To(v1beta1.TargetTypeIP)
	for _, change := range changes {
		change(&b)
	}
	return b
}

func incomplete(b *v1beta1.TargetGroupBinding) { b.Spec.TargetType = nil }

func shared(b *v1beta1.TargetGroupBinding) { b.Spec.MultiClusterTargetGroup = true }

func deleted(b *v1beta1.TargetGroupBinding) { b.DeletionTimestamp = &b.CreationTimestamp }

func released(b *v1beta1.TargetGroupBinding) {
	deleted(b)
	b.Finalizers = []string{"gitops.example/held"}
}

type bindings = []v1beta1.TargetGroupBinding

func TestTakenRejectsASecondBinding(t *testing.T) {
	const taken = "TargetGroupBinding shop/a has this target group already"
	tests := map[string]struct {
		change change
		others bindings
		want   string
	}{
		"alone":                           {},
		"second":                          {others: bindings{newBinding(1, "a")}, want: taken},
		"second, the first is incomplete": {others: bindings{newBinding(1, "a", incomplete)}, want: taken},
		"second, the first goes":          {others: bindings{newBinding(1, "a", deleted)}},
		"second, after one that goes":     {others: bindings{newBinding(1, "b", deleted), newBinding(1, "a")}, want: taken},
		"both share":                      {change: shared, others: bindings{newBinding(1, "a", shared)}},
		"the first does not share":        {change: shared, others: bindings{newBinding(1, "a")}, want: taken},
		"the second does not share":       {others: bindings{newBinding(1, "a", shared)}, want: taken},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			binding := newBinding(2, "second")
			if tc.change != nil {
				tc.change(&binding)
			}
			if got := Taken(&binding.Spec, tc.others); got != tc.want {
				t.Errorf("taken as %q, want %q", got, tc.want)
			}
		})
	}
}

// Clocks tell seconds: UIDs decide between bindings of the same one, for every replica alike.
func TestOwnerIsTheOldestThatCanAct(t *testing.T) {
	tests := map[string]struct {
		binding    v1beta1.TargetGroupBinding
		duplicates bindings
		want       types.UID
	}{
		"alone":                 {binding: newBinding(1, "b")},
		"first":                 {binding: newBinding(1, "b"), duplicates: bindings{newBinding(2, "a")}},
		"second":                {binding: newBinding(2, "a"), duplicates: bindings{newBinding(1, "b")}, want: "b"},
		"third names the first": {binding: newBinding(3, "a"), duplicates: bindings{newBinding(2, "c"), newBinding(1, "d")}, want: "d"},
		"first that can act":    {binding: newBinding(2, "a"), duplicates: bindings{newBinding(1, "b", incomplete)}},
		"of the same second":    {binding: newBinding(1, "b"), duplicates: bindings{newBinding(1, "a")}, want: "a"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got types.UID
			if first := Owner(&tc.binding, tc.duplicates); first != nil {
				got = first.UID
			}
			if got != tc.want {
				t.Errorf("owner %q, want %q", got, tc.want)
			}
		})
	}
}

func TestRefusalNamesTheOwner(t *testing.T) {
	const leaving = "spec.targetGroupARN: TargetGroupBinding shop/a still has this target group, and is being deleted"
	tests := map[string]struct {
		change        change
		duplicates    bindings
		want          string
		wantSuccessor bool
	}{
		"owner": {duplicates: bindings{newBinding(3, "a")}},
		"second": {
			duplicates: bindings{newBinding(1, "a")}, want: "spec.targetGroupARN: TargetGroupBinding shop/a has this target group already",
		},
		"successor":               {duplicates: bindings{newBinding(1, "a", deleted)}, want: leaving, wantSuccessor: true},
		"shares, so no successor": {change: shared, duplicates: bindings{newBinding(1, "a", deleted)}, want: leaving},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			binding := newBinding(2, "second")
			if tc.change != nil {
				tc.change(&binding)
			}
			why, successor := Refusal(&binding, tc.duplicates)
			if why != tc.want || successor != tc.wantSuccessor {
				t.Errorf("refused as %q, successor %v; want %q, %v", why, successor, tc.want, tc.wantSuccessor)
			}
		})
	}
}

func TestSuccessorTakesEveryTarget(t *testing.T) {
	tests := map[string]struct {
		duplicates bindings
		want       bool
	}{
		"none":                        {},
		"one":                         {bindings{newBinding(1, "a")}, true},
		"one that is incomplete":      {bindings{newBinding(1, "a", incomplete)}, false},
		"one that shares":             {bindings{newBinding(1, "a", shared)}, false},
		"one that goes, too":          {bindings{newBinding(1, "a", deleted)}, false},
		"one that goes, then another": {bindings{newBinding(1, "a", deleted), newBinding(2, "b")}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := HasSuccessor(tc.duplicates); got != tc.want {
				t.Errorf("has a successor: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestReleasedIsDeletedWithoutOurFinalizer(t *testing.T) {
	tests := map[string]struct {
		change change
		want   bool
	}{
		"there":                          {func(*v1beta1.TargetGroupBinding) {}, false},
		"without a finalizer":            {func(b *v1beta1.TargetGroupBinding) { b.Finalizers = nil }, false},
		"deleted, and we hold it":        {deleted, false},
		"deleted, and another one holds": {released, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			binding := newBinding(1, "a", tc.change)
			if got := Released(&binding); got != tc.want {
				t.Errorf("released: %v, want %v", got, tc.want)
			}
		})
	}
}
