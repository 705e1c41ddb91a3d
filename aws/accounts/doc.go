// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package accounts has who we are to AWS: a session for each role to assume (session.go, role.go), the credentials of it (assume.go), and
// the budget of its account. It makes the configuration that clients of a service are made from (accounts.go: HTTP client, retries, time
// limits), whose calls are counted (metrics.go) and charged to a budget. What is called as the program itself is called by a Caller
// (caller.go).
//
// A role that refuses is left alone for a while. What is remembered of roles is bounded (recent.go): bindings may name any.
// Accounts has one lock, which is held for no call.
package accounts
