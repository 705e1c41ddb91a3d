// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package preview says what passes over groups of Ingresses would do, before anything does it: to AWS, to bindings and to the Ingresses.
// The passes themselves are asked (balancers.Reconciler.Propose), over a Snapshot of the cluster in which objects of a file may stand in
// place of the cluster's.
//
//	snapshot.go  the cluster, read once
//	file.go      objects of a file, as they would be in the cluster
//	preview.go   which groups are asked
//	report.go    Report: what comes out, also as JSON
//	orphans.go   Orphans: the report on load balancers without Ingresses
//	text.go      prints the report for people
//	routes.go    where requests for an Ingress go, as far as the cluster says
package preview
