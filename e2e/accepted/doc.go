// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package accepted tests that AWS accepts what balancers ask of it, whatever Ingresses, Services and IngressClassParams say: groups with
// odd members are built, planned and applied to the emulated AWS, in this process and without a cluster. What AWS would refuse for a
// reason that can be known is a fault of one member when the group is built.
//
// The tests run without the race detector: nothing in them runs at the same time, and they would take ten times as long.
//
//	bed_test.go          an empty account, and a pass over a group
//	foreign_test.go      what others have made with the same name and settings
//	quotas_test.go       changes at quotas
//	lag_test.go          what AWS does not show yet of what was done a moment ago
//	quirks_test.go       what may be odd about a member
//	overwritten_test.go  whatever somebody else changes in AWS is back an interval later
//	sites_test.go        what there is to change: each field of a stack
//	somebody_test.go     the calls by which somebody changes it
//	dump_test.go         all that AWS shows
//	accepted_test.go     the properties, over groups of odd members
//	fuzz_test.go         the same over any JSON that API servers take
package accepted
