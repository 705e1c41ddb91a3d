// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package emulator emulates AWS's load balancers, with the delays and faults of the real ones.
//
// It has three parts: cloud is the services and decides what happens when, wire answers AWS clients (as far as iam allows it), dataplane
// checks targets and forwards traffic. Start (emulator.go) runs all three in this process on loopback sockets; the program in cmd does the
// same for any AWS client. CreateService (service.go) makes a load balancer with a target group without API calls. Resolve
// leads from the DNS name of a load balancer to its front door, see package names. Package route53 emulates Route 53.
//
// A service of the cloud is a package: state (Elastic Load Balancing), ec2, acm, waf, shield. They share a region, refuse calls by package
// refusal and tags by package tag, and keep what was seen, and what was there before, in package record.
//
// It never registers, deregisters or marks anything by itself: that is the job of the program under test.
package emulator
