// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests targetgate from the outside, as a user would notice it.
//
// Every test runs against one test bed: a real control plane (cluster, built from kubernetes), nodes that open real
// sockets (kubelet), load balancers that really probe and forward (emulator), and the targetgate binary as a process of
// its own; testbed puts them together. Load comes from package load. The tests have the build tag e2e; `make test-e2e`
// builds what they need and says where it is by TARGETGATE_BINARY, TARGETGATE_CONTROL_PLANE and TARGETGATE_CERT_MANAGER, which is
// cert-manager's own controllers and cainjector.
//
// Times of nodes and load balancers run ten times faster than AWS's; targetgate's own are real. Each test has an app of
// its own in a namespace of its own. Tests run one after the other, as some of them kill targetgate. Where the ratio of
// those times matters, or flags, a test has a bed of its own.
//
// Package chart installs the chart on a cluster of its own. Package documents types what the documents tell their readers
// to type. Package bench measures what is promised of targetgate, on the same parts in real time (`make bench`).
package e2e
