// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd has the CRD of TargetGroupBindings, as it is installed.
package crd

import _ "embed" // for the manifest

// TargetGroupBindings is the manifest of the CRD.
//
//go:embed elbv2.k8s.aws_targetgroupbindings.yaml
var TargetGroupBindings []byte
