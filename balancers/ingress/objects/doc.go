// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objects is the front end of Ingresses: it reads Ingresses and all that says what they ask for, and tells passes (package
// balancers) in the terms of package frontend. It writes nothing.
//
//	ingresses.go  Ingresses: the front end, its words, finalizers and labels; which groups are claimed
//	load.go       reads Ingresses, classes and params; the members of a group, and where one has gone
//	build.go      reads Services and Secrets, and has the wanted stack built
//	status.go     the load balancer's name and ports, in the status of each Ingress
//	groups.go     the groups that an object concerns, and Ingresses that belong to none
//	watches.go    which groups a change in the cluster concerns
//	setup.go      what is watched
//	indexes.go    the fields by which Ingresses and bindings are found in the cache
package objects
