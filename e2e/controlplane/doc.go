// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane tests two parts of the test bed, cluster and kubelet, where they meet a real control plane: what it
// does with them is what their own tests, and those of targetgate, take it for.
//
// Each test starts a control plane and runs its parts on it in their order. There is no targetgate.
package controlplane
