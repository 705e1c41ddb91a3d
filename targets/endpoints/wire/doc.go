// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire makes the API server's answers small before they are decoded.
//
// A cache decodes whole objects, and package endpoints strips pods, nodes and EndpointSlices after that: of a pod of 10 kB it keeps some
// 700 bytes. Here the fields that it drops are left out of the bytes that arrive, so that nothing is decoded that nobody reads.
// controller-runtime has no setting for the decoder of a kind, but one for a cache's HTTP client: NewClient returns one for that.
//
//	fields.go     which fields of which kinds are kept, and how many values of some, such as labels; the filter
//	object.go     what an API server puts around an object
//	answer.go     the body of an answer that is filtered while it is read: a watch, or a list
//	unchanged.go  which updates of a watch change nothing that is kept: they are left out
//	transport.go  the HTTP client
//
// Package endpoints says what is kept in the end of what it strips, this package only what certainly is not: strip(decode(filter(bytes)))
// is strip(decode(bytes)) for each object. So a new field that endpoints reads has to be added here, and a test fails until it is.
// Services and Ingresses are not stripped: this package alone says what is kept of them. A new field that anybody reads of the cache's has
// to be added here, and to readOfService or readOfIngress in the tests. Nobody may send a cached object back as a whole.
//
// Only answers in protobuf are filtered. What cannot be read as a field is handed on as it is, for the decoder to say what is wrong.
// There are no locks: each body belongs to who reads it.
package wire
