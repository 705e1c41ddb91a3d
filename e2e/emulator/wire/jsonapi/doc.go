// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsonapi is the services that speak AWS's JSON protocol: what a call asks for, and how the answer looks. What they do is in the
// packages acm, waf and shield.
//
// # Files
//
//	json.go          the protocol, and pages of its lists
//	acm.go           ACM: ListCertificates, DescribeCertificate
//	certificates.go  ACM: requests, deletion and tags of certificates
//	waf.go           WAFv2
//	wafclassic.go    WAF Classic
//	shield.go        Shield Advanced
package jsonapi
