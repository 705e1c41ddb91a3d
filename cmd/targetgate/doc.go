// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command targetgate makes rolling updates behind AWS load balancers lose no request: it gates pods on the health of
// their targets, registers and deregisters those targets, and opens the gates.
//
// main.go is the table of contents: options, AWS, manager, webhook, targets, start. With the argument explain, or called
// kubectl-targetgate, it runs nothing but says what is wrong with a pod or a binding (explain.go).
package main
