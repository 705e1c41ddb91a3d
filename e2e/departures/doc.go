// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package departures judges when targets left a target group.
//
// It reads the journals of a test bed, which miss nothing, and makes no calls: From (departures.go) says when each target left and how many
// others served then, Late (schedule.go) how many departures are late in the best schedule for the calls that AWS let through.
package departures
