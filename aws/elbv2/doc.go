// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package elbv2 is the registrar's way to the load balancers' API: target groups, their targets and the targets' health, in small types of
// its own. How load balancers are made by the same API is in aws/provision.
//
//	client.go   Clients: a Client for each role
//	api.go      the SDK's calls that are made
//	groups.go   reads a target group: what it is, its health check, its deregistration delay
//	targets.go  registers and deregisters targets, reads their health; the types Target, State and Health
//	health.go   whether a target is unused because no load balancer has its group
//	reading.go  shares one health call among those who want the same group's and wait for a token together
//	tags.go     reads a tag of a target group
//	timings.go  how long load balancers take: to check a new target, to find it healthy, to stop sending requests to a deregistered one;
//	            how long a target should serve on after its deregistration: the sleep that the webhook gives pods by default
//	zone.go     reads from AWS's refusals which Availability Zone it wants for an address
//	errors.go   error codes of target groups and registrations
//
// A call first sees to the credentials of its session (aws/accounts), then takes a token from the budget of its account (aws/budget).
//
// Locks: readings.mu guards which readings others may join. It is taken alone, and not held across a call.
//
// The package knows nothing of Kubernetes.
package elbv2
