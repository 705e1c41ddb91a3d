// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package route53 emulates what ExternalDNS and targetgate use of Amazon Route 53, over its REST and XML: hosted zones, their record sets,
// and batches of changes, each applied as a whole or refused. The endpoint is in server.go, what a zone holds and what it refuses in
// zone.go.
//
// An alias must lead to a target that is there, in the target's own hosted zone; so a record cannot come to name a load balancer that AWS
// does not know. There are no pages, no wildcards and no routing policies: a set is known by its name and type.
package route53
