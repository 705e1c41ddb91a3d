// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fake is an ELBv2 API in memory for unit tests (fake.go), which records its calls (call.go). No time passes in it, and a target
// has the health that the test gives it. How a real load balancer behaves is the emulator's affair.
package fake
