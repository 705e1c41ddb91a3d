// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status is the status of a pod as a kubelet sees it. It is pure.
//
//	status.go  what the status is to be
//	patch.go   the patch that writes what differs
package status
