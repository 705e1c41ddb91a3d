// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package state is Elastic Load Balancing: load balancers, and target groups as a state machine, without any network.
//
// A call (RegisterTargets, DeregisterTargets, ...) is answered before it has any effect. What follows from it is a list
// of moments. Most come at a time drawn from a range for the type of load balancer (Timing in options.go):
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
// says when to come back; Report says how a check went; Decide says who gets a request. Any other call applies what is due
// first, so a reader never sees the past, whoever drives. Times in the journal are those of the moment itself.
//
// A load balancer that an API call asks for is provisioned for some minutes (Delays.Provisioning) before it takes anything in, or fails
// (FailProvisioning). Its
// listeners have rules, which decide what is done with a request (Decide); what they say is in package routing. Changed rules are shown at
// once; the data plane follows them in batches: all changes of a load balancer up to the batch are in force from the same moment on, later
// ones are seen apart. A target group that any listener or rule names is in use, even with weight 0 and for requests that never come: its
// targets are checked. It may belong to one load balancer only. A rule in force may still name a target group that is no longer in use; if
// that is deleted, the rule answers 503.
//
// An ALB can be the one target of a group of type alb, at a port at which it has a listener, which stays as long as it is registered. A
// Network Load Balancer may have Elastic IP addresses that PutAllocation has made known: the data plane does not use them.
//
// What is new can be found by API calls only after a while if that is asked for (Delays.Shown); it is there and works from the beginning.
//
// Capacity that is reserved for a load balancer is pending for some minutes (Delays.Capacity); a second request waits for that. Pools of
// public addresses are made known by PutPool: which addresses are in them is not.
//
// A deleted load balancer keeps its target groups for seconds (Delays.Release) and its security groups for a minute (Delays.Linger).
//
// Subnets, instances and security groups are those of package ec2, certificates those of package acm. A load balancer that has a security
// group keeps it from being deleted.
//
// All durations of the load balancer (including health check interval and timeout, and the deregistration delay) are
// multiplied by one factor, region.Options.Scale. The clock is injected and random choices come from one seeded source.
//
// Not emulated: slow start, stickiness (also that of rules), zonal shifts, target group health thresholds (their attributes are kept
// and returned), a login at an identity provider, Gateway Load Balancers, QUIC server ids, health checks of Lambda functions.
//
// # Files
//
// The machine:
//
//	machine.go  Machine: its lock, and what it holds
//	options.go  Options: timings, delays, quotas
//	moments.go  what is planned, and Advance
//	journal.go  the journal of targets
//	errors.go   refusals, with AWS's codes
//
// Target groups and targets:
//
//	group.go         target groups
//	validation.go    what is refused of a target group
//	attributes.go    attributes of target groups
//	healthcheck.go   settings of health checks
//	target.go        a target, and how far its group knows it
//	registration.go  Register, Deregister and Describe
//	albtarget.go     an ALB as a target
//	quota.go         how many targets a group and a load balancer may have
//	lifecycle.go     what becomes of a target from its registration until it is gone
//	health.go        states and reasons of health
//	probe.go         health checks to make, and what their results change
//	echo.go          the old picture of targets that readers get for a while
//	route.go         which targets get traffic
//	inbound.go       what security groups let through, to targets and to load balancers
//
// Load balancers:
//
//	balancer.go            load balancers
//	balancersettings.go    changes of subnets, security groups and address type; deletion
//	balancerattributes.go  attributes of load balancers and listeners
//	names.go               the load balancer of a DNS name
//	allocation.go          Elastic IP addresses
//	pools.go               pools of public addresses
//	capacity.go            reserved capacity
//	listener.go            listeners
//	certificate.go         SSL policies and certificates of listeners
//	truststore.go          certificates of clients: mutual authentication, trust stores
//	listenerrule.go        rules of listeners, and their priorities
//	match.go               Decide: which rule a request gets
//	use.go                 which target groups a load balancer uses; batches of changed rules
//	tags.go                tags of load balancers, listeners, rules and target groups; which of these API calls do not find yet
package state
