// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e has no code. The folders below it test targetgate from the outside, as users see it, and hold what that needs.
//
// A test bed is a real control plane (cluster, built from kubernetes), nodes that open real sockets (kubelet), load balancers
// that really probe and forward (emulator), and the targetgate binary as a separate process; testbed puts them together.
// Package load sends requests; package names has clients reach load balancers by host name.
//
// Tests are in packages by the bed that they need, and a package's tests share one bed, one after the other, each with its own
// app in its own namespace. The doc.go of each says what its bed is and what belongs there; suite has what they share.
//
//	beside        targetgate beside aws-load-balancer-controller, whose part package incumbent plays
//	admission     what API servers ask of targetgate, and how they trust it
//	externaldns   the records that ExternalDNS makes of Ingresses
//	faults        crashes, outages, throttling and attacks
//	gates         when gates open, and what is told while they wait
//	ingress       load balancers of Ingresses
//	networking    inbound rules of security groups, which another cluster may share
//	ownership     target groups in which others have a hand
//	leaving       when targets of pods that leave are deregistered
//	rollouts      pods, nodes and Services that come and go under load
//	realtime      AWS's limits of calls
//	chart         the chart, installed on a cluster without nodes
//	controlplane  cluster and kubelet, without targetgate
//
// Package departures judges what tests of leaving have seen. Package accepted, without a bed, applies groups of odd Ingresses to the
// emulator in process; it runs with the unit tests.
//
// The packages in the list have the build tag e2e, and nothing but tests that need a control plane. `make test` runs a core of each,
// `make test-rest` all others, four packages at a time; docs/design/test-bed.md has the table of both, which command split reads. The
// Makefile passes the paths of programs in TARGETGATE_BINARY, TARGETGATE_CONTROL_PLANE and, only in `make test-rest`, TARGETGATE_HELM,
// TARGETGATE_KUBECTL, TARGETGATE_CERT_MANAGER (cert-manager's controllers and cainjector) and TARGETGATE_EXTERNAL_DNS.
//
// Times of nodes and load balancers run ten times faster than AWS's, but for those of leaving and realtime; targetgate's own are real.
//
// Package documents runs the commands in the documents, package argocd the health rule for Argo CD. Command bench measures targetgate
// against its goals, on the same parts in real time (`make bench`); command demo shows what targetgate is for (`make demo`). Package run is
// what these two share. Package process starts programs, and ends them.
package e2e
