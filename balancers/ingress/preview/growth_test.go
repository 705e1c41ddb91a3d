// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// counted counts how often it is asked for its name.
type counted struct {
	networkingv1.Ingress
	asked *int
}

func (c *counted) GetName() string {
	*c.asked++
	return c.Name
}

func (c *counted) DeepCopyObject() runtime.Object {
	out := *c
	return &out
}

// What is proposed is found without a look at all that is: for explain all Ingresses of the cluster are.
func TestProposedObjectsAreFoundByName(t *testing.T) {
	const n = 1000
	s, asked := NewSnapshot(&lists{}, nil), 0
	for i := range n {
		object := &counted{asked: &asked}
		object.Name = fmt.Sprint(i)
		s.propose(object)
	}
	for i := range n {
		var got counted
		if err := s.Get(t.Context(), client.ObjectKey{Name: fmt.Sprint(i)}, &got); err != nil || got.Name != fmt.Sprint(i) {
			t.Fatalf("object %d: %q, %v", i, got.Name, err)
		}
	}
	if asked > 10*n {
		t.Errorf("names were compared %d times for %d objects", asked, n)
	}
}
