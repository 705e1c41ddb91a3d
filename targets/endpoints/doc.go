// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package endpoints tells what the cluster wants in a binding's target group: the pods behind a Service port, or the nodes.
//
// A Resolver finds the endpoints of a binding and the state of each (resolve.go declares both). For targets of type ip it reads
// EndpointSlices (slices.go) of one address family, which the binding's spec says, and pods whose addresses are in the group although no
// slice lists them; pods.go judges both. For targets of type instance it reads nodes, and judges them (nodes.go). It reads pods and slices
// from a Cache (cache.go, of indexes in index.go), which follows the watches, and everything from objects that strip.go has made small and
// shared.go has share what they have in common.
//
// Beside that, unlisted.go says why a selected pod has no endpoint, asked.go whether other bindings want a target, holders.go which
// bindings have a pod or node in their groups although nothing lists or selects it, selectors.go compiles node selectors once,
// leaving.go says which nodes are about to end, nodes.go from which of these pods leave before they are deleted, and sleep.go until when a
// pod that leaves serves.
//
// The package knows target groups only as Group, and makes no calls. Each index, each of DeletedNodes, SpotNotices, Holders and Selectors,
// and what is remembered to be shared, has a lock of its own, which is never held while another one is taken.
package endpoints
