// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package load is an HTTP client that keeps asking while something else happens, and counts every answer.
//
// The load (load.go) is an open loop: request i is due at start + i/Rate, whatever became of those before it, so a server that stalls is
// not spared the requests it stalls. Workers bounds how many are in flight; a request that finds no free worker waits, and its
// latency counts from when it was due.
//
// Nothing is ever retried. The transport of net/http sends a request again, unseen, when a reused connection breaks, and would
// hide the very failures that are looked for here. So each worker (worker.go) has its own connection and writes requests and reads
// answers on it itself. Only one thing is done before a request is sent: a kept-alive connection that the server has closed in
// the meantime is replaced, since no request is lost by that. When the server closes it a moment later, the request counts
// as failed.
//
// Every request counts (result.go) under its status code, or, when no complete answer came, under one of the kinds of failure: refused
// (no connection), reset, closed (the connection ended without a complete answer), timeout, other. All but 200 is a failure.
// Only http and https URLs are understood; redirects are answers. A handshake that fails is of the kind other, if the connection is not
// broken.
package load
