// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leaving tests that pods leave their target groups at the right moment: not before others replace them, and in time for the
// load balancer to stop sending.
//
// Its bed runs in real time, as targetgate reads from a pod how long it sleeps. Its load balancers are quicker than those of AWS (see
// main_test.go).
package leaving
