// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package review reads reviews within limits, and answers them.
//
// A caller may send anything, and many at once. So a Limiter bounds the memory, the time and the work of all reviews of one path
// together, and HoldsMore and Bounded bound the number of values before they are decoded. Pods, bindings and
// Ingresses have a Limiter each, of 36 MiB: none of them costs a pod its gate.
//
// It knows nothing of these, so that none depends on another.
package review
