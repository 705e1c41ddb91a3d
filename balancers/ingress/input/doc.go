// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package input is what the stack of a group of Ingresses is built of. It says what has to be looked up, and answers what the input alone
// can. It calls nobody. What is the same for other kinds of objects is in packages lookup and parts.
//
//	input.go    Input: members, Services, Secrets, what was looked up in AWS, what is seen of the stack, and options (flags)
//	needs.go    which Services are needed, and what has to be looked up in AWS
//	secret.go   which Secrets are needed
//	named.go    what a member names in its Ingress or params: web ACLs, hosts, whether ACM is to issue its certificate
//	budget.go   how much the members of a group may ask for in all to be read; those for whom there is no room
//	size.go     how many rules, paths and hosts an Ingress may have to be read
//	seen.go     finds the load balancers of the stack that is seen
//	tags.go     whose the stack is, and the tags of its parts
//	names.go    names of what is made
package input
