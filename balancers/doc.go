// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package balancers makes load balancers of Ingresses, as aws-load-balancer-controller does. An Ingress goes through the first five
// of its folders in this order:
//
//	ingress    what Ingresses say: their group, their annotations, the stack that they want
//	lookup     what that needs to know of the AWS account
//	account    the stack that is seen, in one view of the account for all groups
//	plan       by which steps the one becomes the other, and what each waits for
//	apply      does the steps
//
// Beside these:
//
//	preview    says what would be done, and does nothing
//	v1beta1    the API IngressClassParams: settings of all Ingresses of a class
//	issue      has certificates issued for Ingresses that ask for them
//	secrets    reads the Secrets that Ingresses name
//	stack      the nouns of all these, whatever object asks for a load balancer; steps, the verbs
//
// ingress and plan are values only: they make no call. The controller stands in this folder. A pass of it is over one group
// (Reconciler.Reconcile):
//
//	load.go        the Ingresses of the group, what is seen, the stack that is wanted
//	finalizers.go  a finalizer before anything is made for a member, off again when nothing of it serves
//	refusals.go    what AWS has refused to a member: it is held at what it has, so that the others go on
//	status.go      the load balancer's name, in the status of each member
//	events.go      what members are told, each of itself, and once
//	leftovers.go   groups without any Ingress of which something is left in AWS
//	memory.go      what is remembered until the next pass; a restart loses nothing that is needed
//	proposal.go    what a pass would do, for those who only ask
//	certificates.go  has certificates issued that members ask for, and deletes those that no listener has
//	versions.go    which versions of Secrets rules have, of which AWS shows none
//	watches.go     which groups a change in the cluster concerns
//	setup.go       the controller itself, with indexes.go; metrics.go what it counts
//
// Locks: memories.mu guards which groups are remembered. It is taken alone. What is remembered of a group only its passes touch, which come
// one after the other.
//
// A member that moves from one group to another is held in the old one until the new one serves it. A load balancer that replaces another
// gets into the status when all is there, and the other one goes when clients have had the time to follow.
package balancers
