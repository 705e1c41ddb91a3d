// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission tests what API servers ask of targetgate: gates and time to leave that pods are given, bindings that are
// filled in or refused, and why API servers trust the certificate by which it answers. Its permissions are tested here, too.
//
// Its bed runs ten times faster than AWS. Tests join replicas to targetgate, restart and stop them, and change webhook
// configurations, the CA's Secret and roles. Most apps have no pods: what they would be given is told by dry runs.
package admission
