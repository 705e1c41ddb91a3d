// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proxy plays kube-proxy's part, as far as node ports go.
//
//	proxy.go     Proxy: which node ports are open, and where they lead
//	door.go      one node port of one node
//	backends.go  the pods behind a port of a Service
package proxy
