// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command is what targetgate does besides being a controller, one function each, which returns the exit code: explain says what is
// wrong with a pod, a binding or an Ingress, give-back gives bindings back to the incumbent, guard keeps a node until its targets have
// drained. connect.go is how all of them, and the controller, reach the API server.
package command
