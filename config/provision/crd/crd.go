// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd has the CRD of IngressClassParams, as it is installed.
package crd

import _ "embed" // for the manifest

// IngressClassParams is the manifest of the CRD.
//
//go:embed elbv2.k8s.aws_ingressclassparams.yaml
var IngressClassParams []byte
