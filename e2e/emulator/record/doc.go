// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package record keeps what the emulator saw, in order, for tests and the demo to read (log.go), and what was there before, for calls that
// are shown it late (history.go).
//
// Three parts of the emulator write such a list: the state machine its journal of target states, the wire its log of
// calls, the data plane its log of requests. Readers poll: they ask for everything from a position on, and the
// position after that is the old one plus the number of items they were given.
package record
