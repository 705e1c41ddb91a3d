// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package handover gives bindings back to aws-load-balancer-controller, which works on the others of the cluster: one of them, when the
// registrar is to leave it (handover.go), or all of them, before targetgate is uninstalled (all.go). While a targetgate has the
// lease (leader.go), the command leaves the bindings to it, as long as their number goes down. The package needs the API server alone,
// and touches no target.
package handover
