// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package queue is the work queue of controllers, that of bindings and that of Ingresses. Tenants, which are namespaces, take turns:
// however many requests of one of them wait for a pass, one of another waits for one pass of each tenant, and for the other requests of its
// own. What was there when the process began comes last, and so does a request whose last pass took long, where that is limited; but every
// fourth pass is over such a request. No tenant has more workers than it may, so that others find one.
//
//	queue.go  the Queue: what controller-runtime adds to and gets from, on top of client-go's work queue
//	ready.go  in which order requests are worked on that are ready
//
// client-go's queue keeps each request once, delays it and counts it, and leaves the order to us. A pass does not cancel one that was asked
// for later: there is one more at most. controller-runtime's priority queue knows no turns: with 30 groups of one namespace before it, a
// new Ingress of another waited until all of them were done.
//
// Locks: ready.mu guards the order and the priorities that were asked for. It may be taken under that of client-go's queue, or of a
// queue that is made of this one. Under it no other is taken.
package queue
