// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claims writes what has to be there before a target may enter the group, so that whoever comes after us finds it again and cleans
// up: the finalizer of the binding (claims.go) and, for a shared group, the ConfigMap with the record of our targets (record.go; package
// ownership has its format; refusals.go says where we may not read it). Beside the incumbent it puts our finalizer in the place of the
// incumbent's, and gives it back (takeover.go). What somebody else removes of a claim is written again (overwritten.go, and recheck.go for
// the record).
//
// Claims are written beside the passes, as is their removal when the binding goes, one write at a time for each binding: an API server that
// is slow to answer one, because of another webhook, delays no deregistration.
//
// Locks: Claims.mu guards the claims of one binding, refusals.mu where records are refused. Each is taken alone, and not held across a
// read or write.
package claims
