// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reading reads what one member of a group asks for, by itself (reading.go): its listeners (listening.go), its rules (rules.go) and
// what they lead to (backend.go, targetgroup.go), and what it says of settings that the group has once (settings.go, front.go). Whatever
// cannot be read is a fault that holds the member, and the rest is read all the same.
//
// What members say of shared settings are votes. Agree (votes.go) settles them for package ingress; what is seen in AWS has votes, too
// (seenvotes.go).
package reading
