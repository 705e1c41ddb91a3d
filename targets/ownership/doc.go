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
//   - Which of two controllers a binding belongs to, where both work in a cluster, says its finalizer: Mode. Which it should belong to
//     say labels of namespaces, the spec and the other bindings: NotTaken.
//   - A binding that nothing can be done for (Incomplete) owns nothing.
//
// The other bindings are found in a cache with Indexes (Duplicates). Which targets of a shared group are a binding's own stands in its
// Record (record.go: key and format; package claims reads and writes the ConfigMap).
package ownership
