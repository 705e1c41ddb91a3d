// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire speaks AWS's query protocol for ELBv2, EC2 (VPCs, subnets, instances, interfaces, security groups, tags) and STS
// on one HTTP endpoint, well enough for an unmodified AWS SDK or command line client: a form comes in, XML goes out. Calls with a
// header X-Amz-Target are of the JSON protocol: ACM (certificates), WAFv2 and WAF Classic (to
// associate Web ACLs) and Shield Advanced (protections). Paths below /2013-04-01/hostedzone are Route 53's.
//
// A call goes through the same stations as at AWS: parse, authenticate, throttle, authorize, act on the services of a cloud,
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
// What is read of security groups, interfaces and the tags of subnets may be old (ec2.Options.Lag). Not emulated: the ids
// of rules, and answers to changes of rules that say more than that they were made.
//
// Faults (Inject) spoil calls for tests: they answer errors, hang, act and then drop the connection, cut answers off,
// or leave targets out of them.
//
// # Files
//
//	server.go     Server, and a call's way through the stations
//	options.go    Options: limits, latency, roles, policies
//	principal.go  authentication: access keys and sessions
//	throttle.go   token buckets
//	authorize.go  policies of callers
//	fault.go      faults
//	errors.go     the code and the status of an error
//	call.go       Call, a line of the log
//	sts.go        STS
//	route53.go    calls of Route 53, which package route53 answers
//
// The operations of the services are in the packages elbapi, ec2api and jsonapi; what these have in common is in package call.
package wire
