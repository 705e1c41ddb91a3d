// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package balancers creates load balancers for objects of a cluster, as aws-load-balancer-controller does. A pass knows no kind of object:
// a front end (package frontend) says what the objects of one kind ask for. Ingresses are the only kind yet. A pass goes through these
// folders in this order:
//
//	frontend  what a pass knows of the objects that ask for load balancers
//	ingress   what Ingresses say: their group, their annotations, the stack that they want; objects, in it, is their front end
//	account   the stack that is seen, in one view of the account for all groups
//	lookup    what else must be known of the AWS account
//	plan      by which steps the one becomes the other, and what each waits for
//	apply     does the steps
//
// Beside these:
//
//	fault     what is wrong with an annotation or a field, and what would be right
//	v1beta1   the API IngressClassParams: settings of all Ingresses of a class
//	issue     has certificates issued for objects that ask for them
//	parts     what every load balancer is made of: options (flags), subnets, tags, security groups
//	orphans   decides which load balancers without objects may be deleted, and when
//	owners    says which member asks for what has failed
//	secrets   reads the Secrets that members name
//	shared    deletes the security group that all load balancers of the cluster have, once nothing needs it
//	stack     the types that all these share: a load balancer with its parts, whatever object asks for it
//	steps     the types of changes and waits: plan makes them, apply does them, previews show them
//	tenants   says which namespaces take a turn together in the controller's work queue (targets/queue)
//	fixture   parses manifests in tests
//
// ingress (apart from objects and preview) and plan are values only: they make no call. The controller itself is in this folder. A pass of
// it is over one group (Reconciler.Reconcile). Nothing here, and nothing below but ingress, imports the API of Ingresses or a package of
// ingress; tests do.
//
//	reconciler.go    the Reconciler, what it needs of the folders, and the order of a pass
//	load.go          has the front end read the members of the group, and reads what is seen
//	build.go         has the wanted stack built; notes when certificates expire
//	lookups.go       finds members among thousands
//	finalizers.go    a finalizer, added before anything is made for a member, removed when nothing made for the member serves any more
//	refusals.go      decides which members are told of a step that has failed; holds those to whom AWS has refused something, so that the
//	                 others go on
//	certificates.go  has package issue request the certificates that members ask for, and delete those that no listener has
//	status.go        which load balancer the status of each member is to name, and when
//	events.go        writes events, each only once while it holds; their reasons; the texts about waits, rules without room, and load
//	                 balancers that are not active
//	collect.go       finds load balancers without members, tells of them, and has them deleted when it is time
//	orphaned.go      lists load balancers without members, and deletes one on request, for the command orphans
//	leftovers.go     what is left in AWS: of groups without any member, and what cannot be removed yet
//	vanished.go      finds members that are gone, or in another group, and have lost the finalizer of the group before
//	overwritten.go   puts back what others change of what passes write to the API server, after pauses where they go on
//	memory.go        what is remembered between passes: refusals, since when target groups and load balancers are waited for, what members
//	                 were told; a restart loses nothing that is needed
//	versions.go      which version of its Secret each rule was last given, as AWS does not show it; starts passes when a Secret changes
//	proposal.go      what a pass would do, for those who only ask
//	setup.go         the controller itself: its work queue, how many groups are worked on at once
//	metrics.go       metrics of groups: failures, held members, quotas, expiry of certificates
//
// Locks: memories.mu guards which groups are remembered. It is taken alone. What is remembered of a group only its passes touch, which come
// one after the other. The locks of the queue are in its doc.go.
//
// A member that moves from one group to another is held in the old one until the new one serves it. A load balancer that replaces another
// gets into the status when all is there, and the other one goes when clients have had the time to follow.
package balancers
