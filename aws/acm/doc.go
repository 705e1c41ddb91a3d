// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package acm is the only way to AWS Certificate Manager, in the program's own account:
//
//	client.go   lists and describes certificates; the error codes that are told apart
//	request.go  requests and deletes certificates, and reads their tags
package acm
