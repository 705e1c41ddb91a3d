// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chart installs the chart, and then config/ without Helm, on a real API server, as far as an installation goes
// where there are no nodes: every object is accepted, and the pods are created in a namespace that enforces pod security
// `restricted`. Upgrade, rollback and uninstall leave alone what is not Helm's: bindings, their CRD, and caBundle.
package chart
