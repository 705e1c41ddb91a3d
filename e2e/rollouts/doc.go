// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollouts tests that pods and nodes come and go behind a load balancer without a lost request, for all kinds of Services
// and all ways to replace what is there, and what those who roll things out are told: commands of the documents, metrics.
//
// Its bed runs ten times faster than AWS and loses nothing by itself: targetgate runs all the time, but for restarts with other
// flags, and AWS does what it is told. Where something breaks, the test belongs into package faults.
package rollouts
