// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package aws is the only way to AWS. It holds no code itself; its folders do. Each folder imports only folders listed below it; services
// do not import each other, apart from provision, which imports ec2:
//
//	provision   calls of Elastic Load Balancing and EC2 by which load balancers are made, in the SDK's types
//	elbv2       calls of Elastic Load Balancing for targets, in our own types
//	ec2         calls of EC2 for rules of security groups, and for the interfaces and instances behind targets, in our own types
//	acm         calls of Certificate Manager
//	wafv2       calls of WAF
//	wafclassic  calls of WAF Classic
//	shield      calls of Shield Advanced
//	route53     calls of Route 53: the records that prove to Certificate Manager that a domain is ours
//	accounts    who makes a call: sessions of the roles that users name, their credentials; callers, and the metrics of calls
//	budget      how many calls an account may send, and whose turn it is
//	awserr      what an error of a call means
//
// In elbv2 and ec2, the folder fake has the service in memory, for unit tests. Nothing in here knows a cluster.
package aws
