// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package handover gives bindings back to aws-load-balancer-controller, which works on the others of the cluster: one of them, when the
// registrar is to leave it, or all of them, before targetgate is uninstalled. It needs the API server alone, and touches no target.
package handover
