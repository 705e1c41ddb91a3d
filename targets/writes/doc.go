// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package writes makes the writes to the API server that no pass of a controller waits for. It owns their limits, for all bindings
// together: an API server may be slow, and one kind of write must not stand in the way of another, nor one namespace's of another's.
//
//	writes.go  Queue, and the limits of each kind of write
//	shares.go  whose write is the next one
package writes
