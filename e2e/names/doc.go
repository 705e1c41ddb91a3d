// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package names lets clients of a test bed reach load balancers by host name, as users do: by the DNS name that AWS gives to a load
// balancer, or by a name of a domain that is an alias of it, as in Route 53.
//
// Only the connection goes elsewhere: to the front door on loopback. The Host header and the server name of TLS are those of the URL.
// Nothing is cached, so a changed alias counts from the next connection on.
package names
