// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane tests two parts of the test bed, cluster and kubelet, on a real control plane: it does with them what their unit
// tests, and the tests of targetgate, assume.
//
// Each test starts a control plane and runs its parts on it in their order. There is no targetgate.
package controlplane
