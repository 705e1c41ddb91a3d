// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package orphans decides what may be collected of what no object asks for and no finalizer tells of:
//
//	keeper.go  Keeper: when a stack has had no object for long enough, and when too many have none
//	record.go  the tag of a load balancer that says since when it has had no Ingress
//	others.go  what has the tags of a group with Ingresses and is not the group's own
//	names.go   which parts of a stack have names that a controller gives them
package orphans
