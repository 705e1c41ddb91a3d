// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package realtime tests what hangs on the ratio between AWS's limits of calls and all other times.
//
// Its bed runs in real time.
package realtime
