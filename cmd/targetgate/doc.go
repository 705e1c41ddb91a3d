// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command targetgate lets rolling updates behind AWS load balancers lose no request: it adds readiness gates to pods,
// registers and deregisters their targets, and opens the gates of healthy targets.
//
// main.go is the table of contents: options, AWS, manager, webhook, targets, start. With the arguments explain, give-back or guard, or
// under the name kubectl-targetgate, it runs no controller (folder command), nor with the argument plan (plan.go).
package main
