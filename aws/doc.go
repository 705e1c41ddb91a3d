// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package aws is the only way to AWS. It holds no code itself; its folders do, and each imports only those below it, the services
// not each other:
//
//	provision  calls of Elastic Load Balancing and EC2 by which load balancers are made, in the SDK's types
//	elbv2      calls of Elastic Load Balancing for targets, in small types of our own
//	ec2        calls of EC2 for the rules of security groups, and for what targets are, in small types of our own
//	acm        calls of Certificate Manager
//	wafv2      calls of WAF
//	wafclassic calls of WAF Classic
//	shield     calls of Shield Advanced
//	route53    calls of Route 53: the records by which Certificate Manager knows whose a domain is
//	accounts   who makes a call: sessions of the roles that users name, their credentials; callers, and the metrics of calls
//	budget     how many calls an account may send, and whose turn it is
//	awserr     what an error of a call means
//
// Nothing in here knows a cluster.
package aws
