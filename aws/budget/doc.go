// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package budget rations the HTTP attempts that are sent to AWS, retries included, account by account.
//
// An account's Budget has a few buckets (bucket.go), by rules (rules.go). Each serves deregistrations and registrations by deadline, none
// of the former late for the sake of another call (order.go, line.go), then the health of pods that wait, then lookups for users, then
// everything else of a pod's life, then what makes load balancers, and last what no request depends on; lookups have a fifth of the
// bucket for themselves. Within a class the tenants, which are the namespaces of bindings, take turns (queue.go). A bucket never sends
// more than AWS's own of the same size lets in. When AWS throttles all the same, because others use the account too, it slows down for a
// while (pace.go).
//
// A call says in its context what it is charged to (Charge). Each bucket has a lock of its own, which is held for no call.
//
// golang.org/x/time/rate knows no priorities, and the SDK's adaptive mode no classes.
package budget
