// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command targetgate lets rolling updates behind AWS load balancers lose no request: it adds readiness gates to pods,
// registers and deregisters their targets, and opens the gates of healthy targets.
//
// main.go is the table of contents: options, AWS, manager, webhook, targets, start. With the argument explain, or under
// the name kubectl-targetgate, it runs no controller but says what is wrong with a pod or a binding (explain.go). give-back, guard and
// plan are programs of their own, too, in the files of these names.
package main
