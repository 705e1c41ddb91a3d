// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package run is what commands on a test bed share: bench and demo.
//
//	main.go      Main, the command's life: interrupts, errors, exit status
//	programs.go  Programs: flags for the paths of the programs; a bed with them
//	progress.go  Progress: what people read while they wait
//	wait.go      waiting until something is so
//	watch.go     WatchPods: the pods as the API server shows them
package run
