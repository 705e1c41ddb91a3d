// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server is targetgate's ports, with limits that apply before a request is read. The webhooks' port, HTTP/1.1 over TLS, and the
// limits are in server.go; the ports of metrics and probes, which are plain HTTP, in plain.go.
//
// Every pod in the cluster can connect. No client is authenticated before the TLS handshake, on most clusters not even after
// it. So these limits apply to unknown clients:
//
//	connections   maxConnections or maxPlainConnections, shared fairly between addresses (connections.go)
//	headers       maxHeaderBytes per request, within headerTimeout, as for the handshake
//	HTTP/2        not supported: API servers do not use it for a Service, and a client could send hundreds of requests
//	              on one connection
//	the log       one line every ten seconds about failed handshakes and the like
//
// Package review limits bodies: it knows how much memory a review takes.
//
// Locks: listener.mu guards which connections there are. It is taken alone.
//
// The readiness check makes no connection. Either the server listens or the process exits, so a connection would show nothing.
// And a check that waited behind other clients could take all replicas out of service at once.
package server
