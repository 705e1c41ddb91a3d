// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package run is what commands on a test bed share: bench and demo.
//
//	Main      the command's life: interrupts, errors, exit status
//	Programs  flags for the paths of the programs; a bed with them
//	Progress  what people read while they wait; waiting until something is so
//	Watch     the pods as the API server shows them
package run
