// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package acm is Certificate Manager: certificates, which load balancers and the data plane ask for by their ARN, requests of them, and
// their validation by DNS records.
//
// # Files
//
//	acm.go      ACM: the certificates there are, their states and tags
//	pair.go     self-signed ones
//	request.go  requests, and their validation
package acm
