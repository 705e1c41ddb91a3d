// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package charts tests the chart in targetgate, and that config/ installs the same without Helm.
//
// A test renders the chart with the Helm that .tools pins (`make .bin/helm`; TARGETGATE_HELM names another one) and looks
// at the objects. The first question is always whether the chart agrees with what is made from the markers in the code:
// config/crd, config/rbac, config/webhook. What a template does with a value has a case in the table beside its name.
//
// values.yaml is where values are documented. The program in generate makes the README and the schema of it.
package charts
