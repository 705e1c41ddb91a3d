// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dataplane is the part of the load balancers that touches the network: it really checks targets and really
// forwards traffic to them, as package state says.
//
// One goroutine drives the machine: it sleeps until the next moment, makes the health checks that are due (each on its
// own goroutine, which ends with the check), opens and closes front doors as listeners come and go, and ends what is in
// flight to a target when the machine says so. Nothing ticks in between.
//
//	plane.go        Plane, and the goroutine that drives the machine
//	options.go      Options, and where pods listen
//	probe.go        makes health checks
//	door.go         front doors: which there are, the next target, the record of a request
//	names.go        Resolve: from a DNS name to a front door
//	guard.go        which clients a front door takes: security groups, client certificates
//	certificate.go  which certificate an HTTPS listener shows
//	http.go         requests through an ALB
//	respond.go      what rules ask about a request; redirects and fixed responses
//	choose.go       one of a rule's target groups, by weight
//	auth.go         what a request needs before it passes, and the way to a login; rewrites of path and query
//	login.go        users who log in at an OpenID Connect provider
//	jwt.go          JSON Web Tokens
//	tcp.go          connections through an NLB
//	address.go      where a target is dialled
//	firewall.go     dials a target, if security groups let the load balancer in
//	flights.go      requests and connections under way, to be cut
//	traffic.go      Request and Traffic: what is over, for tests
//
// A front door is a socket on loopback for one listener of an active load balancer. The ALB's does with a request what the rules in
// force say: it redirects, answers by itself, or forwards to one of the rule's target groups by their weights, also to one that has no
// target. The record of a request has the rule and the group. Forwarding, it is a reverse proxy that spreads requests evenly, keeps
// connections to targets open, and hides nothing: a request goes to one target only, once, and a target that refuses or
// closes is a 502, no target a 503, no answer in time a 504. The NLB's is a TCP proxy that gives each connection to one
// target; where that fails, the client's connection is reset. A target that is an ALB sees the client's address, and its security groups
// are asked about that.
//
// Where a target's interface is known and has security groups, a connection needs a rule of theirs, for the port and from the
// load balancer's security groups or addresses. Without one nothing is heard: a check times out, a request is a 504.
//
// The security groups of a load balancer that an API call has made let clients in, by their addresses and the listener's port. A client
// that is not let in hears nothing.
//
// Pods have addresses in 10.0.0.0/8 that only the API knows; their servers listen on the same address in 127.0.0.0/8.
// Options.Map translates.
//
// Options.Certificate chooses the certificates of HTTPS listeners.
//
// Not emulated: TLS at Network Load Balancers, UDP, HTTP/2 and gRPC to targets, Lambda functions (502), WebSocket time limits,
// addresses of clients that a Network Load Balancer keeps, where the target is no ALB: to security groups, all other traffic is the load
// balancer's own.
package dataplane
