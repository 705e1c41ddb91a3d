// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package charts tests the chart in targetgate, and that config/ installs the same without Helm.
//
// A test renders the chart with the Helm that .tools pins (`make .bin/helm`; TARGETGATE_HELM names another one) and looks
// at the objects. The first question is always whether the chart agrees with what is made from the markers in the code:
// config/crd, config/rbac, config/webhook. What a template does with a value has a case in the table beside its name.
//
// The alerts are fed series with which they must fire, and series with which they must not; metrics and labels that alerts,
// dashboard and runbook ask for are compared with those that the code registers. Package rules evaluates them.
//
// values.yaml is where values are documented. The program in generate makes the README and the schema of it.
package charts
