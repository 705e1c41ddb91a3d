// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ruleset decides, by values alone, which inbound rules a security group must have, and what to do about those that it has. It
// calls nobody and has no clock.
//
//	rules.go   spec.networking                           -> asks, and with the ports of a member the rules for it
//	reach.go   spec.networking                           -> which rules it can ask for, whatever its members are
//	union.go   the wishes of all bindings                -> the rules that must be in one group
//	diff.go    these, what is present, and our record    -> what to grant and revoke; the description that our rules carry
//	record.go  which rules of one group are ours, and since when: the record, and its form as text
package ruleset
