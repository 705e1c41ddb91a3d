// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package review reads reviews within limits, and answers them.
//
// A caller may send anything, and many at once. So a Limiter bounds the memory, the time and the work of all reviews of one kind
// together, and HoldsMore and Bounded bound the number of values before they are decoded. Pods, bindings, Ingresses and
// IngressClassParams have a Limiter each, of 36 MiB, so reviews of the others never cost a pod its gate.
//
// The package knows none of the four, so they stay independent.
//
//	limiter.go    Limiter: reads and decodes reviews within limits
//	json_size.go  HoldsMore and Bounded
//	answer.go     the AdmissionReview that admits an object, with patch and warnings, or rejects it
//	http.go       writes the HTTP response: an answer, or the status of an error; observes how long a hook takes
//	text.go       shortens texts for messages
//	metrics.go    failures and latency
package review
