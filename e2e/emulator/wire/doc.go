// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire speaks AWS's query protocol for ELBv2, EC2 (VPCs, subnets, instances, interfaces, security groups, tags) and STS
// on one HTTP endpoint, well enough for an unmodified AWS SDK or command line client: a form comes in, XML goes out. Calls with a
// header X-Amz-Target are of the JSON protocol: ACM (certificates), WAFv2 and WAF Classic (to
// associate Web ACLs) and Shield Advanced (protections). Paths below /2013-04-01/hostedzone are Route 53's.
//
// A call goes through the same stations as at AWS: parse, authenticate, throttle, authorize, act on the state machine,
// answer. Half of Options.Latency passes before the call acts and half after. Every call ends up in the log that Calls
// returns.
//
// Authentication takes the access key out of the Authorization header and does not verify the signature. A key handed
// out by AssumeRole stands for its role, and for the role's account: what belongs to another account is AccessDenied. When
// its time is over (Role.Lifetime) it is an ExpiredToken.
//
// Authorization is by the policies of the caller, see package iam: a principal without any may do everything. What of them
// was used is remembered (UnusedGrants).
//
// Throttling is by token buckets, one set for each account, in real time: the factor that scales the load balancers'
// times does not scale the limits of the API.
//
// What is read of security groups, interfaces and the tags of subnets may be old (state.Options.EC2Lag). Not emulated: the ids
// of rules, and answers to changes of rules that say more than that they were made.
//
// Faults (Inject) spoil calls for tests: they answer errors, hang, act and then drop the connection, cut answers off,
// or leave targets out of them.
//
// # Files
//
// What all calls have in common:
//
//	server.go          Server, and a call's way through the stations
//	options.go         Options: limits, latency, roles, policies
//	services.go        which operations ELBv2, EC2 and STS have, and how each service answers
//	params.go          the parameters of a call, as a tree
//	json.go            the JSON protocol, and pages of its lists
//	principal.go       authentication: access keys and sessions
//	throttle.go        token buckets
//	authorize.go       policies of callers, and the refusals
//	authorizeelbv2.go  which resources a call of ELBv2 needs to be allowed for, and tags at creation
//	ec2permissions.go  the same for EC2
//	fault.go           faults
//	answer.go          answers and errors of the query protocol
//	call.go            Call, a line of the log
//
// Operations of ELBv2:
//
//	balancers.go   load balancers, their subnets and security groups
//	attributes.go  attributes of target groups, load balancers and listeners
//	capacity.go    reserved capacity
//	pools.go       pools of IPAM
//	listeners.go   listeners, their certificates, trust stores
//	rules.go       rules of listeners
//	conditions.go  the conditions of rules
//	actions.go     the actions of rules and listeners
//	auth.go        actions that ask for a login or a token; transforms
//	groups.go      target groups; pages of ELBv2's lists
//	targets.go     targets and their health
//	tags.go        tags
//
// Operations of EC2:
//
//	ec2.go             VPCs
//	subnets.go         subnets and route tables
//	zones.go           Availability Zones
//	instances.go       instances
//	interfaces.go      network interfaces
//	securitygroups.go  DescribeSecurityGroups
//	ec2changes.go      CreateSecurityGroup, DeleteSecurityGroup, CreateTags, DeleteTags
//	ingress.go         inbound rules: authorize and revoke
//	filters.go         filters of calls
//	listing.go         EC2's lists, with filters and pages
//
// Operations of other services:
//
//	sts.go           STS
//	acm.go           ACM: ListCertificates, DescribeCertificate
//	certificates.go  ACM: requests, deletion and tags of certificates
//	waf.go           WAFv2
//	wafclassic.go    WAF Classic
//	shield.go        Shield Advanced
//	route53.go       calls of Route 53, which package route53 answers
package wire
