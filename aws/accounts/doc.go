// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package accounts keeps our identities at AWS: a session per role, its credentials, and the budget of its account. It makes the
// configuration of the SDK's clients, whose calls are counted and charged to a budget.
//
//	accounts.go  Accounts: sessions by role, and budgets by account (accounts beyond some 200 share one); the configuration of clients
//	             (HTTP client, retries, time limits)
//	load.go      LoadConfig: the SDK's configuration with the program's own credentials, and a time limit for getting these
//	session.go   Session: credentials, and the budget of their account
//	role.go      Role: which role an object names; the names and tags of its sessions
//	assume.go    assumes a role; one that cannot be assumed is not tried again for a while
//	caller.go    Caller: calls under the program's own identity, also of many pages, charged to a class
//	recent.go    keeps what was asked for lately, up to a limit
//	metrics.go   metrics of calls and HTTP requests; exports those of the budgets, too
//
// What is remembered of roles is bounded: bindings may name any. Accounts has one lock, which is held for no call.
package accounts
