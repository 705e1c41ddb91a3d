// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ownership decides which of several TargetGroupBindings that name one target group owns it. Two that both managed
// it would deregister each other's targets, unless all share it knowingly (multiClusterTargetGroup): then each deregisters
// only what it registered.
//
//   - Admission (package webhook) rejects a second binding: Taken.
//   - Of two that are created at once, each may be admitted without a look at the other. Then the registrar (package targets)
//     acts for the older one alone, by creation and then by UID, and says in the status of the other why: Refusal. The command
//     explain says the same.
//   - A binding that is being deleted hands the group over to its successor, with all targets in it: HasSuccessor. Once nothing
//     of ours holds it, it counts no more: Released.
//   - Where two controllers work in a cluster, a binding's finalizer says which of them it belongs to (Mode); labels of namespaces, the
//     spec and the other bindings say which it should belong to (NotTaken).
//   - A binding that nothing can be done for (Incomplete) owns nothing.
//
// The files:
//
//	ownership.go   which of several bindings owns their target group: Taken, Unmanageable, Refusal, Owner, HasSuccessor, Released
//	incomplete.go  whether anything can be done for a spec: Incomplete
//	index.go       finds the other bindings of a target group in a cache: Indexes, Duplicates
//	mode.go        by which finalizer a binding is ours: Mode; beside the incumbent, the labels of namespaces, and which specs are left to it
//	untaken.go     why a binding should stay with the incumbent: NotTaken
//	foreign.go     what is said of foreign targets: those in a group that are not this cluster's
//	record.go      the Record: which targets of a shared group are a binding's own; its ConfigMap's name, key and format. Package claims
//	               reads and writes the ConfigMap
package ownership
