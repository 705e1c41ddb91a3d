// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cert-manager is cert-manager: the controllers that turn a Certificate into a Secret by an Issuer that is
// self-signed or a CA, and the cainjector for webhook configurations. All of that is cert-manager's own; here it is only put
// together, as its own programs do, which are modules of their own and come with ACME and the SDKs of clouds. It runs as the
// user of the kubeconfig, without leader election, probes and metrics.
//
// What is not here is cert-manager's own webhook, so nobody validates a Certificate or an Issuer beyond their CRDs.
//
// It is in the module of the control plane because it imports the API server's library, for one constant: built with the
// same versions, that library is compiled once. So go.mod holds every module that both need at the version that Kubernetes
// was released with.
package main
