// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server is the webhooks' port: HTTP/1.1 over TLS, within bounds that hold before a review is read.
//
// Everybody in the cluster can connect, and nobody is known before the TLS handshake, on most clusters not even after it.
// So what a stranger can use up here is bounded:
//
//	connections   maxConnections, shared fairly between addresses (connections.go)
//	headers       maxHeaderBytes a request, in headerTimeout, as is the handshake
//	HTTP/2        not spoken: API servers do not speak it to a Service, and a stranger could have hundreds of requests
//	              on one connection
//	the log       a line every ten seconds about handshakes that failed
//
// Bodies are bounded by package webhook, which knows what a review weighs.
//
// The readiness check makes no connection. The server listens or the process ends, so there is nothing to find out, and a
// check that stood in line with strangers would take all replicas out of service at once.
package server
