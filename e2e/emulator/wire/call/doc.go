// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package call is what all services have in common: a call with its parameters, and how a service answers and refuses it.
//
// # Files
//
//	request.go  Request: who calls what, and the tags that policies ask about
//	tree.go     the parameters, as a tree
//	service.go  Service: what a service says of itself
//	answer.go   answers and errors of the query protocol
package call
