// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package review reads reviews within limits, and answers them.
//
// A caller may send anything, and many at once. So a Limiter bounds the memory, the time and the work of all reviews of one path
// together, and HoldsMore and Bounded bound the number of values before they are decoded. Pods and bindings have a Limiter
// each: all reviews together take at most 72 MiB, and bindings never cost a pod its gate.
//
// It knows nothing of pods and bindings, so that neither depends on the other.
package review
