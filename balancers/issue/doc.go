// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package issue has AWS Certificate Manager issue certificates for the Ingresses that ask for them, and deletes those that nobody wants any
// more.
//
//	issuer.go  Issuer: which certificates there are, and whose (Of)
//	keep.go    requests certificates, makes their DNS records, and deletes certificates (Keep)
//
// A group's pass first asks which certificates there are (Of), builds with those that are issued, and then has the Issuer keep what is
// wanted (Keep): request what is missing, make the records that prove to ACM that the domains are ours, and delete the rest once no
// listener has it. Records stay: all certificates of the account for a domain, in all Regions, share one, and ACM renews none without it.
//
// The lock of an Issuer guards what it knows; it is held for no call.
package issue
