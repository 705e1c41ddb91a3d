// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package charts tests the chart in targetgate, and that config/ installs the same objects without Helm.
//
// The tests render the chart with the Helm that .tools pins (`make .bin/helm`; TARGETGATE_HELM names another one) and check
// the objects. The chart must agree with what is generated from the markers in the code: crd, rbac, webhook, provision/crd and
// provision/webhook in config. The test tables have a case for each effect of a value.
//
// Each alert is tested with series that must fire it, and with series that must not. The metrics and labels that alerts,
// dashboard and runbook use are compared with those that the code registers. Package rules evaluates the expressions.
//
// values.yaml documents the values. The program in generate writes README.md, values.schema.json and files/known-values.yaml from it, and
// ANNOTATIONS.md from the table of package balancers/ingress/annotation.
package charts
