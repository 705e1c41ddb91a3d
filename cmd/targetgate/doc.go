// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command targetgate lets rolling updates behind AWS load balancers lose no request: it adds readiness gates to pods,
// registers and deregisters their targets, and opens the gates of healthy targets.
//
// main.go is the table of contents: options, AWS, manager, consent, webhook, targets, load balancers, start. It runs no controller with the
// arguments explain, give-back and guard or under the name kubectl-targetgate (folder command), nor with the argument plan (plan.go).
package main
