// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests targetgate from the outside, as users see it.
//
// All tests share one test bed: a real control plane (cluster, built from kubernetes), nodes that open real sockets
// (kubelet), load balancers that really probe and forward (emulator), and the targetgate binary as a separate process;
// testbed puts them together. Package load sends requests. The tests have the build tag e2e. `make test-e2e` builds the
// programs and passes their paths in TARGETGATE_BINARY, TARGETGATE_CONTROL_PLANE and TARGETGATE_CERT_MANAGER
// (cert-manager's controllers and cainjector).
//
// Times of nodes and load balancers run ten times faster than AWS's; targetgate's own are real. Each test has its own app
// in its own namespace. Tests run one after the other, because some of them kill targetgate. A test has its own bed if the
// ratio of those times matters, or if it needs other flags.
//
// Package chart installs the chart on its own cluster. Package documents runs the commands in the documents. Package bench
// measures targetgate against its goals, on the same parts in real time (`make bench`).
package e2e
