// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command is what targetgate does besides being a controller, one function each, which returns the exit code.
//
//	explain.go          explain: says what is wrong with a pod or a binding
//	explain_ingress.go  the same for an Ingress
//	explain_options.go  flags and arguments of explain
//	give_back.go        give-back: gives bindings back to the incumbent
//	guard.go            guard: keeps a node until its targets have drained
//	server_clock.go     the time by which explain tells ages
//	connect.go          how all of them, plan and the controller reach the API server
//	endpoints.go        validates --aws-api-endpoints
package command
