// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package events records events on Kubernetes objects: their type (event.go), and a queue that writes them (queue.go). Their texts stand
// where they arise. Queue.mu guards when dropped events were last logged; under it come only locks of package writes, and no write.
package events
