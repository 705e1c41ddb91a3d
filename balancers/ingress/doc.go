// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ingress builds the stack that the Ingresses of a group want. Its folders, each of which knows only those before it:
//
//	annotation  what a single annotation means
//	membership  which Ingresses are ours, and share a load balancer
//	input       what a stack is built of; what of it has to be looked up
//	reading     what one member asks for, by itself
//
// This folder puts the readings of all members together:
//
//	build.go       Build: which members are built and which are held, the load balancer with what members agree on, all faults
//	held.go        what stays as it is seen for held members
//	listeners.go   listeners, each of all members on its port: rules, certificates, default action, attributes, mutual authentication
//	optimize.go    leaves out rules of a listener that no request can need; finds the rule that hides another
//	access.go      the security group that is made for the load balancer, and who may send to it
//	frontstack.go  the Network Load Balancer in front
//	frontstays.go  what of it AWS does not change, so that it stays
//	check.go       faults of what does not fit the rest of the group: subnets, address types and pools, certificates, redirects
//	quotas.go      faults of members for which a quota has no room
//	warnings.go    warnings that need the whole group, as of rules that no request reaches (balancers/events.go makes them events)
//	alone.go       checks one Ingress or IngressClassParams without AWS and its group, for the webhook
//
// It calls nothing: what was looked up in AWS is a value.
package ingress
