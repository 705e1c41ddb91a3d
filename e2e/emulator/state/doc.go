// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package state holds the load balancers' side of the story: target groups as a state machine, without any network.
//
// A call (RegisterTargets, DeregisterTargets, ...) is answered before it has any effect. What follows from it is a list
// of moments, each with a time drawn from the load balancer's type:
//
//	register    initial/Elb.RegistrationInProgress       ALB 1-3 s, NLB 90-180 s
//	  effect    initial/Elb.InitialHealthChecking        first check within min(interval, 10 s)
//	  checks    healthy | unhealthy                      a new ALB target after one pass, an NLB one after the threshold
//	deregister  draining/Target.DeregistrationInProgress
//	  stop      no new requests from here on             ALB 12-20 s, NLB 120-200 s after the call
//	  gone      unused/Target.NotRegistered              exactly the deregistration delay after the call
//
// "stop" and "gone" do not wait for each other: with a short deregistration delay a target that is no longer listed still
// gets new requests. A target that cannot be used (its group is attached to nothing, its Availability Zone is not
// enabled, its instance is stopped, its address belongs to a load balancer) is unused and leaves at once.
//
// What DescribeTargetHealth shows may lag behind all this (Timing.Visible): for a while after a call it still gives the old
// picture of the targets that the call named. The journal never lags.
//
// The data plane drives the machine: Advance applies what has become due, hands out the health checks to make now and
// says when to come back; Report says how a check went; Route says who gets traffic. Any other call applies what is due
// first, so a reader never sees the past, whoever drives. Times in the journal are those of the moment itself.
//
// A load balancer that an API call asks for is provisioned for some minutes (Delays.Provisioning) before it takes anything in. Its
// listeners have rules, which decide what is done with a request (Decide). Changed rules are shown at once; the data plane follows them
// in batches: all changes of a load balancer up to the batch are in force from the same moment on, later ones are seen apart. A target
// group that any listener or rule names is in use, even with weight 0 and for requests that never come: its targets are checked. It may
// belong to one load balancer only. A rule in force may still name one that is in use no more: deleted, it answers 503.
//
// An ALB can be the one target of a group of type alb, at a port at which it has a listener, which stays as long as it is registered. A
// Network Load Balancer may have Elastic IP addresses that PutAllocation has made known: the data plane does not use them.
//
// Capacity that is reserved for a load balancer is pending for some minutes (Delays.Capacity); a second request waits for that. Pools of
// public addresses are made known by PutPool: which addresses are in them is not.
//
// A deleted load balancer keeps its target groups for seconds (Delays.Release) and its security groups for a minute (Delays.Linger).
//
// Of EC2 it knows subnets and routes, instances, network interfaces, and security groups with their inbound rules. A call that
// reads them is shown how they were some time ago (Options.EC2Lag), each call another time; a call that changes them acts on
// what is there now. What it has done to inbound rules is in a journal of its own (RuleChanges).
//
// All durations of the load balancer (including health check interval and timeout, and the deregistration delay) are
// multiplied by one factor, Options.Scale. The clock is injected and random choices come from one seeded source.
//
// Not emulated: slow start, stickiness (also that of rules), zonal shifts, target group health thresholds (their attributes are kept
// and returned), a login at an identity provider, Gateway Load Balancers, QUIC server ids, health checks of Lambda functions. Security
// groups have no outbound rules, and their rules have no ids or tags. Subnets and routes are given with Options; only tags and free
// addresses change.
package state
