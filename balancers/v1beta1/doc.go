// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 holds the IngressClassParams API of group elbv2.k8s.aws, field for field what aws-load-balancer-controller serves, so
// that existing manifests keep their meaning. An IngressClass names one in spec.parameters, and each field that is set counts before the
// annotations of the Ingresses of that class. The fields are in ingressclassparams_types.go; groupversion.go registers the types.
//
// +kubebuilder:object:generate=true
// +groupName=elbv2.k8s.aws
package v1beta1
