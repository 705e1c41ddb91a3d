// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package faults tests that no request and no target is lost when something breaks: targetgate is killed, AWS fails, throttles
// or hangs, the API server restarts or is down, or somebody with small rights does what hurts most.
//
// Its bed runs ten times faster than AWS and is for such tests alone: no other test should have to wait until a bed has
// recovered. A test leaves all parts running and whole, so that the next one finds them so.
package faults
