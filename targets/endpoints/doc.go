// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package endpoints tells what the cluster wants in a binding's target group: the pods behind a Service port, or the nodes.
//
// The endpoints of a binding:
//
//	resolve.go     the Resolver, whose Pass finds them: first the Service and its port, and which of these is missing;
//	               what an Endpoint and its State are
//	ports.go       which port of the Service a binding means, and which ports of slices those are, by number or name and protocol
//	slices.go      for type ip, reads EndpointSlices of the one address family that the binding's spec says, and finds which of the pods that
//	               they list are gone
//	pods.go        the state of pods that leave, and of pods whose addresses are in the group although no slice lists them
//	held.go        the ways in which Kubernetes says that a pod which lives gets no traffic, and what is made of each
//	nodes.go       for type instance, reads nodes, and says their state; for type ip, what is known of a pod's node: whether it is ready,
//	               was deleted, or ends its pods before they are deleted
//	leaving.go     which nodes are about to end: deleted, tainted or shutting down, and which of these soon; when a Spot instance with a
//	               notice ends
//	sleep.go       until when a pod that is being deleted serves, by its preStop sleep
//	selectors.go   node selectors of bindings, each compiled once
//
// What else is asked of the cluster:
//
//	unlisted.go    why a pod that the Service selects has no endpoint
//	asked.go       which targets other bindings want
//	incluster.go   which addresses are this cluster's, whoever has them
//	holders.go     which bindings have a pod or node in their groups although nothing lists or selects it
//
// What is kept of the cluster:
//
//	cache.go       pods and EndpointSlices, for the Resolver; follows the watches
//	index.go       finds objects of one kind by a value; the cache has several such indexes
//	strip.go       makes pods, EndpointSlices, nodes and bindings small before they are kept
//	containers.go  what is kept of a pod's containers: named ports, and the shortest preStop sleep
//	workload.go    what makes the pods that replace a pod; whether a pod is no longer selected because its own labels were changed
//	shared.go      lets pods share equal parts: labels, owners, gates, names
//
// The package knows target groups only as Group, and makes no calls. Each index, each of DeletedNodes, SpotNotices, Holders and Selectors,
// and what is remembered to be shared, has a lock of its own, which is never held while another one is taken.
package endpoints
