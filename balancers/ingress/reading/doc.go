// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reading reads what one member of a group asks for, by itself. Whatever cannot be read is a fault that holds the member, and the
// rest is read all the same.
//
//	reading.go       Reading: what comes out, and in which order it is read; tags, faults, and warnings that need the member alone
//	listening.go     its listeners, port by port: protocols, listener attributes, inbound CIDRs, SSL policy, mutual authentication,
//	                 certificates that it names; AWS refuses those that do not exist
//	certificates.go  certificates that it does not name: found by its hosts, or issued for it
//	paths.go         its paths in order, as far as they are read; its default backend
//	rules.go         the rule of a path: host, path, conditions, transforms; what paths share is read once
//	patterns.go      which values of conditions AWS takes, and how many
//	backend.go       what a backend does: forward, redirect or fixed response
//	auth.go          who may pass before a backend answers: OIDC, Cognito, JWT
//	targetgroup.go   the target group of a Service's port, its attributes, and its TargetGroupBinding
//	healthcheck.go   the health check of the target group
//	settings.go      settings of the load balancer: name, scheme, address type, subnets, security groups, load balancer attributes, tags,
//	                 address pools, Shield, SSL redirect
//	webacl.go        web ACLs of WAF and WAF Classic
//	front.go         the Network Load Balancer in front
//	votes.go         Vote: what members say of settings that their group, or a port, has once; Agree settles them for package ingress
//	seenvotes.go     votes of what is seen in AWS
package reading
