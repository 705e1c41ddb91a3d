// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stack has the types of what is made in AWS for one load balancer: the same for what is wanted and for what is seen there. It
// knows neither an Ingress nor a client of AWS. Its names and tags are the incumbent's: by its tags we adopt what it made, and we give what
// we make the name that it would have given.
//
//	stack.go        Stack: its members and parts; Ref, LoadBalancer, SecurityGroup, Binding
//	targetgroup.go  TargetGroup, HealthCheck; BindingSpec
//	listener.go     Listener, Rule, Condition, Action
//	auth.go         Auth: the authentication part of an action; Transform
//	certificate.go  Certificate: one that ACM is to issue
//	covers.go       compares conditions: whether one rule takes all requests of another, or none
//	front.go        resource tags of load balancers and listeners; the name and the resource tags of what stands in front, the Elastic IP
//	                addresses of its subnets
//	group.go        Group: whose objects a stack is for, the key of a pass
//	find.go         finds a part, by its ID or what it is for; copies a value with all that is behind it
//	name.go         how names of what is made are composed
//	limits.go       what AWS takes: tags, security groups, schemes
//	setting.go      the names of settings that members share
//	tags.go         the tags by which parts are found again
package stack
