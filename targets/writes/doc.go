// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package writes makes the writes to the API server that no pass of a controller waits for. It owns their limits, for all bindings
// together: an API server may be slow, and one kind of write must not stand in the way of another, nor one namespace's of another's.
//
//	writes.go  Queue, and the limits of each kind of write
//	shares.go  whose write is the next one
//
// Claims are not queued: each binding has at most one under way. Nor are the records of inbound rules, of which package networking writes
// one for each security group at a time, with a limit of its own.
//
// Locks: shares.mu guards the keys that wait in a queue. It is taken under that of client-go's queue or alone, and under it no other is.
package writes
