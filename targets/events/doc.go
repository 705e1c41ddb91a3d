// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package events records events on Kubernetes objects: their type (event.go), and a queue that writes them (queue.go). Their texts stand
// where they arise. Queue.mu guards whether events are being dropped; it is taken alone, and not held across a write.
package events
