// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"errors"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Selectors are the bindings' node selectors, each compiled once for each generation: every change of a node asks for all of
// them. Safe for concurrent use; nil compiles whenever it is asked.
type Selectors struct {
	mu       sync.Mutex
	compiled map[types.NamespacedName]compiledSelector
}

type compiledSelector struct {
	uid        types.UID
	generation int64
	selector   labels.Selector
	err        error
}

func newSelectors() *Selectors {
	return &Selectors{compiled: map[types.NamespacedName]compiledSelector{}}
}

// Of is the binding's; a binding without one selects every node.
func (s *Selectors) Of(binding *v1beta1.TargetGroupBinding) (labels.Selector, error) {
	if binding.Spec.NodeSelector == nil {
		return labels.Everything(), nil
	}
	if s == nil {
		return compileSelector(binding.Spec.NodeSelector)
	}
	key := client.ObjectKeyFromObject(binding)
	s.mu.Lock()
	known, there := s.compiled[key]
	s.mu.Unlock()
	if !there || known.uid != binding.UID || known.generation != binding.Generation {
		known = compiledSelector{uid: binding.UID, generation: binding.Generation}
		known.selector, known.err = compileSelector(binding.Spec.NodeSelector)
		s.mu.Lock()
		s.compiled[key] = known
		s.mu.Unlock()
	}
	return known.selector, known.err
}

// Drop is for a binding that is gone.
func (s *Selectors) Drop(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.compiled, key)
}

// compileSelector refuses an oversized selector before it works on it: the API server accepts one of a megabyte.
func compileSelector(selector *metav1.LabelSelector) (labels.Selector, error) {
	if !v1beta1.NodeSelectorFits(selector) {
		return nil, errors.New("it " + v1beta1.NodeSelectorLimits)
	}
	return metav1.LabelSelectorAsSelector(selector)
}
